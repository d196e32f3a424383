"""What takes several entries to bring about, and would come about by chance too seldom.

Each rule leads to a situation that is worth looking at from all sides: an owner that was overtaken and goes
on, a stop that cannot be proven, a lifetime that ends under code that runs, an inbox that is full.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fencepost_spec.limits import FORM
from hypothesis import strategies as st
from hypothesis.stateful import rule

from .arguments import Plan, Trap, a_plan, addresses, an_id, of_stage, one_of, plans, points_of
from .boundaries import IDS as ODD_IDS
from .deadlines import LIFETIME
from .machine import MOST_CREATES, MOST_FLIGHTS, ScenarioMachine, somebody, when
from .programs import Program, special
from .stage import IDS, Stage

SELDOM = st.sampled_from((*[False] * 5, True))
SETTLED = "settled"


def _room(stage: Stage) -> bool:
    return len(stage.ids) < len(IDS) and stage.creates < MOST_CREATES


class ComposedMachine(ScenarioMachine):
    """The rules that play one entry, and those that play several."""

    @when("pause", lambda stage: _room(stage) and stage.offers("clock") and stage.can_recover())
    @rule(
        plan=a_plan, kind=st.sampled_from(("do", "")), place=st.integers(0, 3), again=st.sampled_from((2, 1))
    )
    def create_what_is_overtaken(self, plan: Plan, kind: str, place: int, again: int) -> None:
        """Its owner freezes on its way and loses its lease; so does the next one, and both go on."""
        id = next(each for each in IDS if each not in self.stage.ids)
        points = [*points_of(plan.program, kind)[: place + 1], SETTLED]
        traps = (Trap("pause", points[min(place, len(points) - 1)]),) * again
        self._create(id, replace(plan, traps=traps, stuck=False))
        for gate in self.stage.closed_gates():
            self._release(gate)
        for _ in range(again):
            self._play({"recover": True})
            self._look(id)
        self._resume(id)
        self._settle()
        self._look(id)

    @when(holds=lambda stage: stage.ids and (stage.offers("stuck") or stage.offers("pause")))
    @rule(
        id=an_id,
        deed=st.sampled_from(("stuck", "pause")),
        flying=st.booleans(),
        meanwhile=st.sampled_from(("", "terminate", "sendEvent", "release", "recover")),
    )
    def terminate_what_cannot_be_stopped(self, id: str, deed: str, flying: bool, meanwhile: str) -> None:
        if not self.stage.offers(deed) or id in self.stage.stuck:
            return
        if deed == "stuck":
            self._get_stuck(id)
        else:
            self._play({"pause": id, "at": "now"})
        if flying and len(self.stage.flying) < MOST_FLIGHTS:
            self._begin_a_call("terminate", id)
        else:
            self._play({"terminate": id})
        self._look(id)
        gates = self.stage.closed_gates()
        if meanwhile == "release" and gates:
            self._release(gates[0])
        elif meanwhile == "recover" and self.stage.offers("clock") and self.stage.can_recover():
            self._play({"recover": True})
        elif meanwhile in ("terminate", "sendEvent"):
            self._play(self._a_call(meanwhile, id))
        self._look(id)
        if deed == "stuck":
            self._get_unstuck(id)
        else:
            self._resume(id)
        self._settle()
        self._look(id)

    @when("clock", lambda stage: any(each.deadline.what == LIFETIME for each in stage.instants()))
    @rule(id=an_id, deed=st.sampled_from(("stuck", "holdWakes", "restart", "")), sure=SELDOM)
    def come_to_the_end_of_a_lifetime(self, id: str, deed: str, sure: bool) -> None:
        """With everything let run just before it, at it and just after it."""
        instants = {
            each.where: each.at
            for each in self.stage.instants()
            if each.deadline.what == LIFETIME and each.deadline.instance == id
        }
        if (
            not sure
            or not instants
            or (deed and not self.stage.offers({"holdWakes": "wakes"}.get(deed, deed)))
        ):
            return
        if deed == "stuck" and id not in self.stage.stuck:
            self._get_stuck(id)
        if deed == "holdWakes" and not self.stage.wakes_held:
            self._play({"holdWakes": True})
            self.stage.wakes_held = True
        for where in ("1 s before", "onto", "1 s past"):
            if where in instants and instants[where] > self.stage.now:
                self._advance_to(instants[where])
                if deed == "restart" and where == "1 s before":
                    self._play({"restart": True})
                self._settle()
                self._look(id)
        gates = self.stage.closed_gates()
        if gates:  # what runs may settle, late
            self._release(gates[0])
            self._look(id)
        if deed == "holdWakes":
            self._let_wakes()
        if id in self.stage.stuck:
            self._get_unstuck(id)

    @when("pause", lambda stage: _room(stage) and stage.offers("clock") and stage.can_recover())
    @rule(
        program=of_stage(lambda stage: special(stage.prefix, "overtaken", stage.real_time)),
        point=st.sampled_from(("effect-end", "effect-start", "committed")),
        again=st.sampled_from((1, 2)),
        restarted=st.booleans(),
    )
    def create_an_effect_that_is_overtaken(
        self, program: Program, point: str, again: int, restarted: bool
    ) -> None:
        """The effect tells its executions apart, and later contexts show which of them was committed."""
        id = next(each for each in IDS if each not in self.stage.ids)
        traps = (Trap("pause", f"{point}:{program.steps[0]}"),) * again
        self._create(id, Plan(program, traps=traps))
        for gate in program.gates:
            self._release(gate)
        for _ in range(again):
            self._play({"recover": True})
        self._resume(id)
        if restarted and self.stage.offers("restart"):
            self._play({"restart": True})
            self.stage.flying.clear()
        self._wake(id)
        self._look(id)

    @when("clock", _room)
    @rule(
        program=of_stage(lambda stage: special(stage.prefix, "queue", stage.real_time)),
        count=st.sampled_from((3, 11, 1)),
        restarted=st.booleans(),
    )
    def create_and_queue_events(self, program: Program, count: int, restarted: bool) -> None:
        """So many that their numbers do not sort as text; then the waits for them."""
        id = next(each for each in IDS if each not in self.stage.ids)
        self._create(id, Plan(program))
        for _ in range(count):
            self._play(self._event(id, program.types[0], "numbered"))
        if restarted and self.stage.offers("restart"):
            self._play({"restart": True})
            self.stage.flying.clear()
            self._play(self._event(id, program.types[0], "numbered"))
        self._wake(id)
        self._look(id)

    @when("resource", lambda stage: stage.ids and not stage.words["deleteResource"])
    @rule(
        id=an_id,
        deed=st.sampled_from(("stuck", "pause")),
        meanwhile=st.sampled_from(("release", "restart", "recover")),
        sure=SELDOM,
    )
    def delete_what_cannot_be_stopped(self, id: str, deed: str, meanwhile: str, sure: bool) -> None:
        """The Operation is under way while code goes on, and then the name is created again."""
        if not sure or not self.stage.offers(deed) or id in self.stage.stuck:
            return
        if deed == "stuck":
            self._get_stuck(id)
        else:
            self._play({"pause": id, "at": "now"})
            self.stage.frozen.append(id)
        self._play({"unbind": True})
        self._play({"deleteResource": True})
        gates = self.stage.closed_gates()
        if meanwhile == "release" and gates:
            self._release(gates[0])
        elif self.stage.offers("restart" if meanwhile == "restart" else "clock"):
            self._play({meanwhile if meanwhile != "release" else "recover": True})
        self._finish_the_delete()

    @when(holds=lambda stage: stage.ids and not stage.real_time)  # it takes a thousand calls
    @rule(
        to=one_of(addresses),
        short=st.integers(0, 1),
        awaited=st.booleans(),
        sure=SELDOM,
        really=st.booleans(),
    )
    def fill_the_inbox(
        self, to: tuple[str, str], short: int, awaited: bool, sure: bool, really: bool
    ) -> None:
        """To the brim, or one event short of it; then comes what may be awaited, and once more."""
        if not (sure and really):
            return
        id, type = to
        count, filler = FORM.inbox_events - short, type if awaited else "filler"
        self._play({"sendEvent": id, "type": filler, "payload": {"n": 0}, "times": count})
        for each in (type, type, filler):
            self._play(self._event(id, each, "numbered"))
        self._wake(id)
        for each in (type, filler):
            self._play(self._event(id, each, "numbered"))
        self._look(id)

    @when(holds=lambda stage: stage.creates < MOST_CREATES)
    @rule(ids=st.sampled_from(ODD_IDS), plan=of_stage(plans))
    def create_under_an_odd_id(self, ids: tuple[Any, Any], plan: Plan) -> None:
        id, other = ids
        self._play({"create": id, "program": self.stage.new_program(plan.program)})
        for entry in ({"get": other}, {"status": other}, {"status": id}):
            self._play(entry)

    @when(holds=lambda stage: stage.creates < MOST_CREATES)
    @rule(plan=of_stage(plans))
    def create_under_an_id_of_the_host(self, plan: Plan) -> None:
        number = self.stage.creates
        variable = f"id{number}"
        self._play({"create": None, "as": variable, "program": self.stage.new_program(plan.program)})
        self._play({"get": {"$": variable}})
        self._play({"status": {"$": variable}})

    @when(holds=somebody)
    @rule(
        id=st.sampled_from(("nobody", "I")), call=st.sampled_from(("get", "status", "sendEvent", "terminate"))
    )
    def call_whom_nobody_created(self, id: str, call: str) -> None:
        self._play(self._a_call(call, id))
