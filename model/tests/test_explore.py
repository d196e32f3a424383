"""The explorer finds what TLC finds, and a planted fault on the shortest way."""

from __future__ import annotations

import pytest
from fencepost.machine import apply
from fencepost.machine.actions import Action, BeginStep, Claim, Create, EndLifetime, Park, SendEvent, Wake
from fencepost.machine.records import evolve
from fencepost.machine.state import Instance
from fencepost_model import configs, explore, predicates
from fencepost_model.mutants import MUTANTS, planted
from fencepost_model.universe import LEASE_UNTIL
from fencepost_model.waits import Waits

SMALL = ("FencingSmall", "WaitsSmall", "ResourceSmall")
LEFT_TO_TLC = configs.LIVENESS | {"Refines"}

# a planted fault, the property that must break, and how many actions lead there at the least
FAULTS = {
    "terminate does not fence (TRM-1)": ("DecisionFences", 3),
    "a decided instance is published before its contexts stop (PUB-1)": ("Publication", 3),
    "one attempt too many (DO-2)": ("AttemptsBounded", 4),
    "a parked instance is claimed (SLP-2, DO-10)": ("NotBeforeItsTime", 5),
    "a retry's delay is forgotten (DO-3)": ("TimersAreKept", 4),
    "the newest matching event is taken (WFE-8)": ("Fifo", 5),
    "an event is handed over after the deadline (WFE-6)": ("NotAfterItsTime", 6),
    "the inbox outlives its instance (EVT-6)": ("EmptyAtTheEnd", 3),
    "the inbox holds one event too many (EVT-3)": ("Capacity", 4),
    "a wait times out at its deadline's own instant (WFE-5)": ("TimeoutStrictly", 6),
    "a close leaves the owner in place (DEL-3)": ("ClosedFences", 5),
    "a purge does not wait for the stop (DEL-3)": ("FreeMeansEmpty", 6),
}


@pytest.mark.parametrize("name", SMALL)
def test_everything_holds(name: str) -> None:
    found = explore.explore(name)
    assert found.passed, explore.render(found)
    assert f"{name}: holds on" in explore.render(found)


@pytest.mark.parametrize("name", [each for each in configs.available() if each[:7] != "Durable"])
def test_python_states_what_the_module_states(name: str) -> None:
    configuration = configs.load(name)
    stated = predicates.of(configuration.module)
    assert set(configuration.invariants) <= set(stated.invariants)
    assert set(configuration.properties) - LEFT_TO_TLC <= set(stated.properties)
    if configuration.size == "Small":
        assert set(configuration.invariants) == set(stated.invariants)
        assert set(configuration.properties) - LEFT_TO_TLC == set(stated.properties)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    mutant = next(each for each in MUTANTS if each.name == fault)
    with planted(mutant):
        found = explore.explore(mutant.configuration)
    broken, length = FAULTS[fault]
    assert found.broken is not None
    shown = explore.render(found)
    assert (found.broken.name, len(found.trace) - 1) == (broken, length), shown
    assert found.broken.clauses[0] in shown
    assert len(found.actions) == length


def test_a_state_may_be_moved_along_the_clock() -> None:
    """What `Waits` relies on: an action on a state that was moved, as much later, is the same."""
    universe = Waits(explore.universe("WaitsSmall").bounds)
    way = (
        Create(0, "i", b'{"program":"two"}'),
        Claim(0, 1, "v1", LEASE_UNTIL),
        BeginStep(0, 1, "wait", "a", {"type": "go", "timeoutSeconds": 1}),
        Park(0, 1),
        SendEvent(1000, "no", None, 1),
        Wake(1001),
        EndLifetime(3000),
    )
    slot = universe.initial().slot
    for action in way:
        if isinstance(slot, Instance):
            moved = moved_on(slot, 5000)
            later = apply(moved, moved_action(action, 5000))
            now = apply(slot, action)
            assert isinstance(now.state, Instance)
            assert later.reply == now.reply
            assert later.state == moved_on(now.state, 5000)
        slot = apply(slot, action).state
    assert isinstance(slot, Instance)
    assert slot.decision is not None


def moved_action(action: Action, by: int) -> Action:
    """The same action, later."""
    later = evolve(action, now=action.now + by)
    return evolve(later, lease_until=action.lease_until + by) if isinstance(action, Claim) else later


def moved_on(slot: Instance, by: int) -> Instance:
    """The same slot, with every instant later by so many milliseconds."""
    history = slot.history
    for name, step in history.items():
        if step.deadline is not None:
            history = history.put(name, step._replace(deadline=step.deadline + by))
    changes = {name: getattr(slot, name) + by for name in ("created_at", "ends_at")}
    for name in ("decision", "terminal"):
        ending = getattr(slot, name)
        if ending is not None:
            changes[name] = evolve(ending, at=ending.at + by)
    if slot.terminal is not None:
        changes["terminal_at"] = slot.terminal_at + by
    if slot.lease_until:
        changes["lease_until"] = slot.lease_until + by
    inbox = tuple(event._replace(accepted_at=event.accepted_at + by) for event in slot.inbox)
    return evolve(slot, history=history, inbox=inbox, **changes)
