"""The state machine: one rule for each thing that the world can do, and what Hypothesis prints of it.

A rule plays one entry, sometimes two. It is offered only where the Host has the instrument, and where there
is something that it could touch. After a call that lets the Host run the instance is looked at; after what
holds the Host still, or only sets a trap, it is not, so that the next call is the first to find it so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import event, reject
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from .. import judging
from ..adapter import AdapterFault, Connection, Handshake
from ..scenario import ScenarioError
from .arguments import (
    PAYLOADS,
    WEIGHTS,
    Opening,
    Plan,
    Trap,
    a_call_kind,
    a_plan,
    a_trap,
    addresses,
    an_event,
    an_id,
    event_types,
    of_stage,
    one_of,
    openings,
)
from .deadlines import LEASE, LIFETIME, OFFSETS, RETENTION, Around
from .programs import TYPES
from .real_time import staged
from .stage import IDS, Entry, Stage
from .watching import NotAdmitted, Watch

JUDGED_EVERY = 60  # entries: the judge begins anew each time
_FAR = (LEASE, RETENTION)
MOST_CREATES = 5  # in one scenario
MOST_FLIGHTS = 2  # calls begun and not awaited: what each came to doubles what is possible
EPILOGUE = 6  # times that something is waited for at the end, or sent

Rule = TypeVar("Rule", bound=Callable[..., Any])


def when(instrument: str = "", holds: Callable[[Stage], Any] = lambda stage: True) -> Callable[[Rule], Rule]:
    """Offer a rule only where the Host has the instrument and the stage has what it needs."""

    def allowed(machine: Any) -> bool:
        stage = machine.stage
        return (not instrument or stage.offers(instrument)) and bool(holds(stage))

    return precondition(allowed)


def somebody(stage: Stage) -> bool:
    return bool(stage.ids)


class ScenarioMachine(RuleBasedStateMachine):
    """Makes up one scenario on a Host and has it judged."""

    def __init__(
        self, connection: Connection, handshake: Handshake, watch: Watch | None = None, *, idle: bool = False
    ) -> None:
        super().__init__()
        self.connection, self.handshake, self.watch = connection, handshake, watch or Watch()
        self.stage = staged(connection, handshake)
        self._judged = 0
        self._idle, self._begun, self._over, self._broken = idle, False, False, False

    # The beginning

    @initialize(opening=of_stage(lambda stage: openings(stage)))
    def begin(self, opening: Opening) -> None:
        if self._idle:  # Hypothesis tries the simplest of all first, which is always the same
            reject()
        if opening.versions:
            self.stage = staged(self.connection, self.handshake, opening.versions)
        self._safely(self.stage.begin)
        self._begun = True
        self._create(IDS[0], opening.plan)

    # Callers

    @when(holds=lambda stage: len(stage.ids) < len(IDS) and stage.creates < MOST_CREATES)
    @rule(plan=a_plan)
    def create(self, plan: Plan) -> None:
        self._create(next(each for each in IDS if each not in self.stage.ids), plan)

    @when(holds=lambda stage: stage.ids and stage.creates < MOST_CREATES)
    @rule(id=an_id, plan=a_plan)
    def create_with_an_equal_id(self, id: str, plan: Plan) -> None:
        self._create(id, plan)

    @when(holds=somebody)
    @rule(id=an_id, type=one_of(lambda stage: event_types(stage)), payload=st.sampled_from(PAYLOADS))
    def send_event(self, id: str, type: Any, payload: str) -> None:
        self._play(self._event(id, type, payload))
        self._look(id)

    @when(holds=somebody)
    @rule(to=one_of(addresses), times=st.sampled_from((2, 3)), woken=st.booleans())
    def send_events(self, to: tuple[str, str], times: int, woken: bool) -> None:
        id, type = to
        for _ in range(times):
            self._play(self._event(id, type, "numbered"))
        if woken:
            self._wake(id)  # it may come to a wait for them
        self._look(id)

    @when(holds=somebody)
    @rule(id=an_id)
    def get(self, id: str) -> None:
        self._play({"get": id})

    @when(holds=somebody)
    @rule(id=an_id)
    def terminate(self, id: str) -> None:
        self._play({"terminate": id})
        self._look(id)

    @when(holds=lambda stage: stage.ids and len(stage.flying) < MOST_FLIGHTS)
    @rule(id=an_id, call=a_call_kind)
    def begin_a_call(self, id: str, call: str) -> None:
        self._begin_a_call(call, id)

    @when("clock", lambda stage: stage.flying)
    @rule(call=one_of(lambda stage: stage.flying))
    def await_the_call(self, call: str) -> None:
        self._await(call)

    @when("responses", lambda stage: stage.ids and stage.creates < MOST_CREATES)
    @rule(id=st.sampled_from(IDS), plan=a_plan, call=st.sampled_from(("create", "sendEvent", "terminate")))
    def lose_the_answer(self, call: str, id: str, plan: Plan) -> None:
        if call == "create":
            self._create(id, plan, lost=True)
            return
        self._play({"dropResponse": self._a_call(call, id)})

    # Time

    @when("clock", somebody)
    @rule()
    def settle(self) -> None:
        self._settle()
        self._look()

    @when("clock", lambda stage: any(each.deadline.what in _FAR for each in stage.instants()))
    @rule(
        instant=one_of(lambda stage: [each for each in stage.instants() if each.deadline.what in _FAR]),
        settled=st.booleans(),
    )
    def move_the_clock_far(self, instant: Around, settled: bool) -> None:
        self._advance_to(instant.at)
        if settled:
            self._settle()
            self._look()
        self._judge_now_and_then()

    @when("clock", lambda stage: any(each.deadline.step for each in stage.instants()))
    @rule(instant=one_of(lambda stage: [each for each in stage.instants() if each.deadline.step]))
    def move_the_clock_to_a_step(self, instant: Around) -> None:
        self._advance_to(instant.at)
        self._judge_now_and_then()

    @when("clock", lambda stage: any(each.deadline.what == LIFETIME for each in stage.instants()))
    @rule(
        instant=one_of(lambda stage: [each for each in stage.instants() if each.deadline.what == LIFETIME]),
        call=st.sampled_from(("sendEvent", "terminate", "release")),
        sure=st.booleans(),
    )
    def call_around_the_end_of_a_lifetime(self, instant: Around, call: str, sure: bool) -> None:
        if not sure:  # it ends everything at once
            return
        id = instant.deadline.instance
        self._advance_to(instant.at)
        if call == "release" and self.stage.closed_gates():
            self._release(self.stage.closed_gates()[0])
        else:
            self._play(self._a_call("sendEvent" if call == "release" else call, id))
        self._look(id)

    @when("clock", lambda stage: stage.ids and stage.can_recover())
    @rule()
    def recover(self) -> None:
        self._play({"recover": True})
        self._look()

    @when("wakes", lambda stage: stage.ids and not stage.wakes_held)
    @rule()
    def hold_wakes(self) -> None:
        self._play({"holdWakes": True})
        self.stage.wakes_held = True

    @when("wakes", lambda stage: stage.wakes_held)
    @rule()
    def let_wakes(self) -> None:
        self._let_wakes()

    # Owners

    @when("journal", lambda stage: stage.closed_gates())
    @rule(gate=one_of(lambda stage: stage.closed_gates()))
    def release(self, gate: str) -> None:
        self._release(gate)

    @when("kill", somebody)
    @rule(id=an_id, trap=of_stage(lambda stage: a_trap(stage, "kill")))
    def kill(self, id: str, trap: Trap) -> None:
        self._play({"kill": id, "at": trap.at})

    @when("pause", somebody)
    @rule(id=an_id, trap=of_stage(lambda stage: a_trap(stage, "pause")))
    def pause(self, id: str, trap: Trap) -> None:
        self._play({"pause": id, "at": trap.at})
        self.stage.frozen.append(id)

    @when("pause", lambda stage: stage.ids and stage.offers("clock") and stage.can_recover())
    @rule(id=an_id, trap=of_stage(lambda stage: a_trap(stage, "pause")))
    def pause_beyond_the_lease(self, id: str, trap: Trap) -> None:
        self.pause(id, trap)
        self._play({"recover": True})
        self._look(id)

    @when("pause", lambda stage: stage.frozen)
    @rule(id=one_of(lambda stage: stage.frozen))
    def resume(self, id: str) -> None:
        self._resume(id)

    @when("stuck", lambda stage: len(stage.stuck) < len(stage.ids))
    @rule(id=one_of(lambda stage: [each for each in stage.ids if each not in stage.stuck]))
    def get_stuck(self, id: str) -> None:
        self._get_stuck(id)

    @when("stuck", lambda stage: stage.stuck)
    @rule(id=one_of(lambda stage: stage.stuck))
    def get_unstuck(self, id: str) -> None:
        self._get_unstuck(id)

    # The Host

    @when("restart", somebody)
    @rule()
    def restart(self) -> None:
        self._play({"restart": True})
        self.stage.flying.clear()

    @when("backend", somebody)
    @rule(id=an_id, call=st.sampled_from(("status", "get", "sendEvent", "terminate")))
    def call_without_a_backend(self, call: str, id: str) -> None:
        self._play({"backend": "down"})
        self._play(self._a_call(call, id))
        self._play({"backend": "up"})

    @when("versions", lambda stage: stage.ids and len(stage.versions) > 1)
    @rule(weights=st.sampled_from(WEIGHTS))
    def deploy(self, weights: dict[str, int]) -> None:
        self._play({"deploy": dict(weights)})

    @when("resource", lambda stage: stage.ids and not stage.words["deleteResource"])
    @rule(sure=st.sampled_from((False, False, True)))
    def delete_and_create_the_resource_again(self, sure: bool) -> None:
        if not sure:  # a rule that is drawn as often as the others would end most scenarios
            return
        self._play({"unbind": True})
        self._play({"deleteResource": True})
        self._finish_the_delete()

    def _finish_the_delete(self) -> None:
        """Let everything be stopped, and create the resource again under its name."""
        for word, ids in (("unstuck", self.stage.stuck), ("resume", self.stage.frozen)):
            for id in dict.fromkeys(ids):
                self._play({word: id})
        self.stage.stuck.clear()
        self.stage.frozen.clear()
        self._settle()
        if not self.stage.deleted():
            self._judge()  # it says whether that may be; there is no going on
            self._over = True
            reject()
        self._play({"recreateResource": True})
        self._look(*self.stage.ids)

    # What is drawn more often than the rest: Hypothesis counts a rule once for each name that it has here

    _create_again, _settle_again, _send_again, _send_once_more = create, settle, send_event, send_events
    _move_to_a_step_again = _move_to_a_step_once_more = move_the_clock_to_a_step

    # The end

    def teardown(self) -> None:
        """Let what goes on come to an end, have the whole judged, and take the Host down."""
        if not self._begun or self._broken:
            return
        try:
            if not self._over:
                self._epilogue()
                self._judge()
        finally:
            for word in self.stage.words:  # for Hypothesis's statistics
                event(f"entry {word}")
            self.watch.finished(self.stage)
            self._safely(self.stage.end)

    def _epilogue(self) -> None:
        stage = self.stage
        if stage.wakes_held:
            self._let_wakes()
        for id in tuple(stage.stuck):
            self._get_unstuck(id)
        for id in dict.fromkeys(stage.frozen):
            self._play({"resume": id})
        for gate in stage.closed_gates():
            self._release(gate)
        self._settle()
        if stage.offers("clock"):
            for call in tuple(stage.flying):
                self._await(call)
        self._look(*stage.ids)
        for turn in range(EPILOGUE):
            awaited = [] if turn % 2 else stage.awaited_now()
            wake = None if awaited else stage.next_wake()
            if not awaited and wake is None:
                continue
            for id, type in awaited:
                self._play(self._event(id, type, "numbered"))
            if wake is not None:
                before = wake.deadline.at + OFFSETS["1 s before"]
                if before > stage.now:  # too early
                    self._advance_to(before)
                    self._settle()
                self._advance_to(wake.at)
            for gate in stage.closed_gates():
                self._play({"release": gate})
                stage.released.add(gate)
            self._settle()
            self._look()
        ends = [each.at for each in stage.instants() if each.deadline.what == LIFETIME]
        if ends:  # nothing lives on after that
            self._advance_to(max(ends))
            self._settle()
            self._look()

    # Helpers

    def _create(self, id: str, plan: Plan, lost: bool = False) -> None:
        stage = self.stage
        if plan.stuck and id not in stage.stuck:
            self._get_stuck(id)
        for trap in plan.traps:
            self._play({trap.deed: id, "at": trap.at})
            if trap.deed == "pause":
                stage.frozen.append(id)
        call: Entry = {"create": id, "program": stage.new_program(plan.program)}
        if plan.params is not None:
            call["params"] = plan.params
        stage.ids += [id] if id not in stage.ids else []
        stage.programs[id] = plan.program
        self._play({"dropResponse": call} if lost else call)
        if not lost:
            self._look(id)

    def _event(self, id: Any, type: Any, payload: str) -> Entry:
        self.stage.sent += 1
        return an_event(id, type, payload, self.stage.sent)

    def _begin_a_call(self, call: str, id: str) -> None:
        self.stage.flying.append(self.stage.name_flight())
        self._play({"start": self._a_call(call, id), "as": self.stage.flying[-1]})

    def _await(self, call: str) -> None:
        self._play({"await": call})
        self.stage.flying.remove(call)

    def _a_call(self, call: str, id: str) -> Entry:
        return self._event(id, TYPES[0], "numbered") if call == "sendEvent" else {call: id}

    def _let_wakes(self) -> None:
        self._play({"holdWakes": False})
        self.stage.wakes_held = False
        self._look()

    def _get_stuck(self, id: str) -> None:
        self._play({"stuck": id})
        self.stage.stuck.append(id)

    def _get_unstuck(self, id: str) -> None:
        self._play({"unstuck": id})
        self.stage.stuck.remove(id)
        self._look(id)

    def _resume(self, id: str) -> None:
        self._play({"resume": id})
        self._look(id)

    def _release(self, gate: str) -> None:
        self._play({"release": gate})
        self.stage.released.add(gate)
        self._settle()

    def _play(self, entry: Entry) -> None:
        self._safely(lambda: self.stage.play(entry))
        self._judge_now_and_then()

    def _look(self, *ids: str) -> None:
        self._safely(lambda: self.stage.look(*ids))
        self._judge_now_and_then()

    def _settle(self) -> None:
        self._safely(self.stage.settle)

    def _advance_to(self, instant: int) -> None:
        self._safely(lambda: self.stage.advance_to(instant))

    def _wake(self, id: str) -> None:
        wake = self.stage.next_wake(id)
        if wake is not None:
            self._advance_to(wake.at)
            self._settle()

    def _safely(self, act: Callable[[], None]) -> None:
        try:
            act()
        except (AdapterFault, ScenarioError) as fault:
            self._broken = True
            self.watch.broken(self.stage, fault)
            raise

    def _judge_now_and_then(self) -> None:
        if len(self.stage.entries) - self._judged >= JUDGED_EVERY:
            self._judge()

    def _judge(self) -> None:
        self._judged = len(self.stage.entries)
        try:
            verdict = judging.admitted(self.stage.scenario, self.stage.observations, self.handshake)
        except Exception as error:  # a fault of the kit: no scenario is to be shrunk for it
            self._broken = True
            self.watch.broken(self.stage, error)
            raise
        if verdict is not None:
            self._over = True
            self.watch.failed(self.stage, verdict)
            raise NotAdmitted(verdict.message(verdict.blamed()))
