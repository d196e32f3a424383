"""A scenario played once more on a Host of ours, with everything that the machine did kept in order.

A Host of ours says what it does in its trace of `Moment`s. For a picture, three things belong between the
moments: the entries of the schedule, effects that began and ended, and, after each moment, what the state
says of owners and deadlines. So the Host's `note`, which keeps a moment, is listened to while the scenario
runs. Such a Host has a virtual clock and draws no chance from outside, so that what happened once happens
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost.host.calls import Moment
from fencepost.machine import Transition
from fencepost.machine.actions import Action
from fencepost.machine.state import Instance

from .adapter import AdapterFault, Connection, Setup
from .inprocess import InProcess
from .observations import Observation
from .results import Difference
from .run import Run
from .runner import greet
from .scenario import Scenario, ScenarioError


@dataclass(frozen=True)
class Entered:
    """The entry at `index` begins; `uid` is the Workflow resource of that moment."""

    at: int
    index: int
    uid: str


@dataclass(frozen=True)
class Effect:
    """An effect of a step began or ended."""

    at: int
    instance: str
    step: str
    began: bool


@dataclass(frozen=True)
class Move:
    """A moment of the trace, and what the state that it led to says; instants in milliseconds.

    `contexts` are the tokens not proven stopped, `owner` is the current one or 0, `deadlines` are those of
    steps that have no outcome yet, by step name; `ends_at` is the end of the lifetime.
    """

    moment: Moment
    uid: str
    owner: int = 0
    contexts: tuple[int, ...] = ()
    deadlines: Mapping[str, int] = field(default_factory=dict)
    ends_at: int | None = None


@dataclass(frozen=True)
class Recording:
    """All of it, in order, with what the runner saw and found."""

    happenings: tuple[Entered | Effect | Move, ...]
    observations: tuple[Observation, ...]
    differences: tuple[Difference, ...]


def record(connection: Connection, scenario: Scenario) -> Recording | None:
    """Play a scenario and keep what happened; None where the Host is not one of ours, or breaks down."""
    if not isinstance(connection, InProcess) or not hasattr(type(connection.adapter), "host"):
        return None
    happenings: list[Entered | Effect | Move] = []
    adapter: Any = connection.adapter
    begin = adapter.begin

    def listening(setup: Setup) -> None:
        begin(setup)
        _listen(adapter.host, setup, happenings)

    adapter.begin = listening
    try:
        run = Run(connection, greet(connection), scenario)
        run.begin()
        host = adapter.host
        try:
            for index, entry in enumerate(scenario.schedule):
                happenings.append(Entered(host.now, index, host.uid))
                run.enter(entry)
            run.end()
        except ScenarioError:
            run.give_up()
    except AdapterFault:
        return None
    finally:
        del adapter.begin
    return Recording(tuple(happenings), tuple(run.observations), tuple(run.differences))


def _listen(host: Any, setup: Setup, happenings: list[Entered | Effect | Move]) -> None:
    note = host.note

    def noting(key: tuple[str, str], action: Action, transition: Transition) -> None:
        note(key, action, transition)
        happenings.append(_move(host.trace[-1], key[0], transition.state))

    host.note = noting
    journal = setup.journal
    journal.on_effect_start.append(lambda id, step: happenings.append(Effect(host.now, id, step, True)))
    journal.on_effect_end.append(lambda id, step: happenings.append(Effect(host.now, id, step, False)))


def _move(moment: Moment, uid: str, state: Any) -> Move:
    if not isinstance(state, Instance):
        return Move(moment, uid)
    pending = {
        name: step.deadline
        for name, step in state.history.items()
        if step.outcome is None and step.deadline is not None and state.live
    }
    tokens = tuple(context.token for context in state.contexts)
    return Move(moment, uid, state.owner, tokens, pending, state.ends_at if state.live else None)
