"""The judge on the reference with one rule broken by hand: each must be refused, for a clause that fits."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from fencepost.documents import event_bytes
from fencepost.host.managed import ManagedHost
from fencepost.machine import Rules, Transition, Vacant
from fencepost.machine.actions import (
    BeginStep,
    Claim,
    CommitAttempt,
    Create,
    SendEvent,
    Settle,
    Terminate,
    Wake,
)
from fencepost.machine.latitude import Latitude
from fencepost.machine.records import evolve
from fencepost.machine.replies import Accepted, Done
from fencepost.machine.state import Failed, Instance, Terminal, parked_on
from fencepost_conformance.hosts.reference import ReferenceAdapter
from fencepost_conformance.inprocess import InProcess
from fencepost_conformance.judge import judge
from fencepost_conformance.run import Run
from fencepost_conformance.runner import greet
from fencepost_conformance.scenario import Scenario
from fencepost_spec.limits import FORM

CREATE = {"create": "i", "program": "main"}
SETTLE = {"settle": True}
STATUS = {"status": "i"}


def go(number):
    return {"sendEvent": "i", "type": "go", "payload": {"n": number}}


def wait(name, seconds=60):
    return {"wait": name, "type": "go", "timeoutSeconds": seconds, "as": name}


def do(name, **more):
    return {"do": name, "effect": {"value": {"n": 1}}, **more}


class LosesEvents(ManagedHost):
    def transition(self, slot, action):
        made = super().transition(slot, action)
        lost = isinstance(action, SendEvent) and isinstance(made.reply, Accepted)
        return Transition(slot, made.reply, made.clauses) if lost else made


class TakesEventsTwice(ManagedHost):
    def transition(self, slot, action):
        made = super().transition(slot, action)
        if isinstance(made.reply, Accepted) and made.state.inbox:
            twice = (*made.state.inbox, made.state.inbox[-1])
            return made._replace(state=evolve(made.state, inbox=twice))
        return made


class LastComesFirst(ManagedHost):
    def transition(self, slot, action):
        made = super().transition(slot, action)
        if isinstance(made.reply, Accepted):
            inbox = sorted(made.state.inbox, key=lambda event: -event.number)
            return made._replace(state=evolve(made.state, inbox=tuple(inbox)))
        return made


class TieGoesToTheTimeout(ManagedHost):
    def transition(self, slot, action):
        return super().transition(slot, evolve(action, now=action.now + isinstance(action, SendEvent)))


class WakesEarly(ManagedHost):
    def moves(self, slot):
        if isinstance(slot, Instance) and (step := parked_on(slot)) is not None:
            early = self.now + 2000
            return (Wake(early),) if step.kind == "sleep" and step.deadline <= early else super().moves(slot)
        return super().moves(slot)


class RepeatsEffects(ManagedHost):
    def transition(self, slot, action):
        if isinstance(action, Wake):
            for name, step in slot.history.items():
                if step.kind == "do" and step.finished:
                    history = slot.history.put(name, step._replace(outcome=None))
                    slot = evolve(slot, history=history)
        return super().transition(slot, action)


class RunsTwice(ManagedHost):
    def transition(self, slot, action):
        if isinstance(action, Create) and isinstance(slot, Instance):
            slot = Vacant(slot.rules)
        return super().transition(slot, action)


class WrongReason(ManagedHost):
    def transition(self, slot, action):
        return super().transition(
            slot, evolve(action, provenance=None) if isinstance(action, Settle) else action
        )


class TerminatedBeforeTheStop(ManagedHost):
    def transition(self, slot, action):
        made = super().transition(slot, action)
        if isinstance(action, Terminate) and isinstance(made.state, Instance) and made.state.decision:
            return Transition(evolve(made.state, terminal=made.state.decision, decision=None), Done())
        return made


class StaleOwnersSettle(ManagedHost):
    def transition(self, slot, action):
        if isinstance(action, Settle) and isinstance(slot, Instance) and slot.context(action.token):
            slot = evolve(slot, owner=action.token, lease_until=action.now + 1)
        return super().transition(slot, action)


class CutsSleeps(ManagedHost):
    def transition(self, slot, action):
        if isinstance(action, BeginStep) and action.kind == "sleep":
            action = evolve(action, arguments={"seconds": min(action.arguments["seconds"], 30)})
        return super().transition(slot, action)


class LivesForEver(ManagedHost):
    broken = Rules(limits=replace(FORM, lifetime_seconds=10**9))


class ForgetsFromCreation(ManagedHost):
    broken = Rules(latitude=Latitude(after_retention="forgotten"))

    def transition(self, slot, action):
        made = super().transition(slot, action)
        if isinstance(made.state, Instance) and made.state.terminal is not None:
            return made._replace(state=evolve(made.state, terminal_at=made.state.created_at))
        return made


class TriesFailuresAgain(ManagedHost):
    def transition(self, slot, action):
        if isinstance(action, BeginStep) and isinstance(slot, Instance):
            step = slot.history.get(action.name)
            if step is not None and isinstance(step.outcome, Failed):
                history = slot.history.put(action.name, step._replace(outcome=None, failures=0))
                slot = evolve(slot, history=history)
        return super().transition(slot, action)


class OneByteMore(ManagedHost):
    broken = Rules(limits=replace(FORM, inbox_bytes=FORM.inbox_bytes + 1))


class TerminateOverwrites(ManagedHost):
    def transition(self, slot, action):
        made = super().transition(slot, action)
        if isinstance(action, Terminate) and isinstance(slot, Instance) and slot.terminal is not None:
            return made._replace(state=evolve(slot, terminal=Terminal("terminated", action.now)))
        return made


class ForgetsParams(ManagedHost):
    def transition(self, slot, action):
        if isinstance(action, Claim) and slot.history:
            slot = evolve(slot, params=slot.params.replace(b'"n":7', b'"n":8'))
        return super().transition(slot, action)


class CountsFailuresOnceMore(ManagedHost):
    def transition(self, slot, action):
        made = super().transition(slot, action)
        if isinstance(action, CommitAttempt) and action.failed and isinstance(made.state, Instance):
            for name, step in made.state.history.items():
                if step.kind == "do" and step.outcome is None and step.failures == 1:
                    history = made.state.history.put(name, step._replace(failures=2))
                    return made._replace(state=evolve(made.state, history=history))
        return made


def large(size):
    """An event's payload with which it takes `size` bytes of an inbox."""
    frame = event_bytes("x", b"{}") - 2
    return {"sendEvent": "i", "type": "x", "payload": {"$size": size - frame}}


THROWS = {"effect": {"throw": "no"}}
TWO_WAITS = [wait("v"), wait("w"), {"return": {"v": {"$": "v"}, "w": {"$": "w"}}}]
GATE = [{"do": "a", "effect": {"gate": "g"}}, {"return": {"done": True}}]

MUTANTS = {
    LosesEvents: ([wait("w"), {"return": {}}], [CREATE, go(1), SETTLE, STATUS], {"EVT-1", "WFE-10"}),
    TakesEventsTwice: (
        [{"sleep": "s", "seconds": 9}, *TWO_WAITS],
        [CREATE, SETTLE, go(1), {"advance": 9}, SETTLE, STATUS],
        {"WFE-2", "EVT-1"},
    ),
    LastComesFirst: (
        [{"sleep": "s", "seconds": 9}, *TWO_WAITS],
        [CREATE, SETTLE, go(1), go(2), {"advance": 9}, SETTLE, STATUS],
        {"WFE-8"},
    ),
    TieGoesToTheTimeout: (
        [wait("w", 5), {"return": {}}],
        [CREATE, SETTLE, {"advance": 5}, go(1), {"advance": 1}, SETTLE, STATUS],
        {"WFE-5"},
    ),
    WakesEarly: (
        [{"sleep": "s", "seconds": 9}, {"return": {}}],
        [CREATE, SETTLE, {"advance": 8}, SETTLE, STATUS],
        {"SLP-2"},
    ),
    RepeatsEffects: (
        [do("a"), {"sleep": "s", "seconds": 9}, do("a"), {"return": {}}],
        [CREATE, SETTLE, {"advance": 9}, SETTLE],
        {"DO-6", "STP-3"},
    ),
    RunsTwice: ([{"return": {}}], [CREATE, SETTLE, CREATE], {"BND-3"}),
    WrongReason: ([{"do": "a", **THROWS}], [CREATE, SETTLE, STATUS], {"ERR-3"}),
    TerminatedBeforeTheStop: (GATE, [CREATE, SETTLE, {"stuck": "i"}, {"terminate": "i"}, STATUS], {"TRM-1"}),
    StaleOwnersSettle: (
        {"v1": [{"return": {"v": 1}}], "v2": [{"do": "a", "effect": {"gate": "g"}}, {"return": {"v": 2}}]},
        [
            {"pause": "i", "at": "settled"},
            CREATE,
            SETTLE,
            {"deploy": {"v2": 10000}},
            {"recover": True},
            {"resume": "i"},
            SETTLE,
            {"release": "g"},
            SETTLE,
            STATUS,
        ],
        {"PUB-1", "PUB-2", "ABI-3"},
    ),
    CutsSleeps: (
        [{"sleep": "s", "seconds": 60}, {"return": {}}],
        [CREATE, SETTLE, {"advance": 31}, SETTLE, STATUS],
        {"SLP-1", "SLP-2"},
    ),
    LivesForEver: (
        [{"wait": "w", "type": "go", "timeoutSeconds": 31536000}],
        [CREATE, {"advance": 1}, SETTLE, {"advance": 31536000}, SETTLE, STATUS],
        {"LIF-1"},
    ),
    ForgetsFromCreation: (
        [{"sleep": "s", "seconds": 1000}, {"return": {}}],
        [CREATE, SETTLE, {"advance": 1000}, SETTLE, {"advance": 2591999}, {"get": "i"}],
        {"RET-1"},
    ),
    TriesFailuresAgain: (
        [do("a", **THROWS, catch="e"), {"sleep": "s", "seconds": 1}, do("a", **THROWS, catch="e")],
        [CREATE, SETTLE, {"advance": 1}, SETTLE],
        {"STP-3", "DO-6"},
    ),
    OneByteMore: ([wait("w")], [CREATE, SETTLE, large(FORM.inbox_bytes + 1)], {"EVT-3", "EVT-4"}),
    TerminateOverwrites: ([{"return": {}}], [CREATE, SETTLE, {"terminate": "i"}, STATUS], {"TRM-3"}),
    ForgetsParams: (
        [{"sleep": "s", "seconds": 1}, {"return": {"$params": True}}],
        [{**CREATE, "params": {"n": 7}}, SETTLE, {"advance": 1}, SETTLE, STATUS],
        {"CTX-1", "ABI-2", "ABI-3"},
    ),
    CountsFailuresOnceMore: (
        [do("a", **THROWS, retry={"maxAttempts": 3})],
        [CREATE, SETTLE],
        {"DO-2", "DO-4"},
    ),
}


def played(host_class, program, schedule):
    versions = program if isinstance(program, dict) else None
    document = {"title": "t", "clauses": ["EXT-1"], "judged": True, "schedule": schedule}
    if versions:
        document["programs"] = versions
        document["versions"] = {version: {"main": version} for version in versions}
        document["deployed"] = next(iter(versions))
    else:
        document["programs"] = {"main": program}
    connection = InProcess(ReferenceAdapter(host_class, getattr(host_class, "broken", None)))
    run = Run(connection, greet(connection), Scenario("t", document))
    run.play()
    return SimpleNamespace(scenario=run.scenario, observations=run.observations, handshake=run.handshake)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_broken_rule_is_refused_with_a_clause_that_fits(mutant):
    program, schedule, clauses = MUTANTS[mutant]
    seen = played(mutant, program, schedule)
    verdict = judge(seen.scenario, seen.observations, seen.handshake)
    assert not verdict.admitted
    assert clauses & set(verdict.clauses), str(verdict)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_same_on_the_reference_is_admitted(mutant):
    program, schedule, _ = MUTANTS[mutant]
    seen = played(ManagedHost, program, schedule)
    verdict = judge(seen.scenario, seen.observations, seen.handshake)
    assert verdict.admitted, str(verdict)
