"""What rules are given, and how it reads: plans of a create, traps, types of events.

The reprs are what Hypothesis prints of a scenario that fails, so they say in words what happens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from .boundaries import FIT, FIT_ODDITIES, ODD_TYPES, UNFIT, twins_of
from .programs import TYPES, Program, named, programs
from .stage import Stage

VERSIONS = ("v1", "v2")
WEIGHTS: tuple[dict[str, int], ...] = ({"v2": 10000}, {"v1": 10000}, {"v1": 5000, "v2": 5000})

_POINTS = {
    "do": ("effect-start", "effect-end", "committed"),
    "sleep": ("parked",),
    "wait": ("parked", "consumed"),
}
_NUMBERED, _NONE = "numbered", "none"
PAYLOADS: tuple[str, ...] = (*[_NUMBERED] * 24, *[_NONE] * 8, *FIT_ODDITIES, *UNFIT)
_PARAMS: tuple[Any, ...] = (
    *[None] * 24,
    *[{"n": 1}] * 4,
    *FIT[:2],
    *({"$oddity": kind} for kind in (*FIT_ODDITIES, *UNFIT)),
)
_ONCE_IN_EIGHT = st.sampled_from((*[False] * 7, True))

Draw = Callable[[st.SearchStrategy[Any]], Any]


@dataclass(frozen=True, repr=False)
class Trap:
    """A kill or a pause at a point that an owner may come by."""

    deed: str
    at: str

    def __repr__(self) -> str:
        return f"{self.deed} at {self.at}"


@dataclass(frozen=True, repr=False)
class Plan:
    """What is created: the program, its params, the traps that wait for its first context, and whether that
    can be stopped."""

    program: Program
    params: Any = None
    traps: tuple[Trap, ...] = ()
    stuck: bool = False

    def __repr__(self) -> str:
        params = "" if self.params is None else f" with params {self.params}"
        traps = "".join(f", {each}" for each in self.traps)
        return f"{self.program!r}{params}{traps}{', stuck' if self.stuck else ''}"


@dataclass(frozen=True, repr=False)
class Opening:
    """How a scenario begins: the Versions that there are, if more than one, and the first create."""

    versions: tuple[str, ...]
    plan: Plan

    def __repr__(self) -> str:
        return f"{' and '.join(self.versions) or 'one Version'}, create i: {self.plan!r}"


@st.composite
def openings(draw: Draw, stage: Stage) -> Opening:
    """One Version or two, and the first create."""
    versions = draw(st.sampled_from(((), (), VERSIONS))) if stage.offers("versions") else ()
    return Opening(versions, draw(plans(stage, versions)))


@st.composite
def plans(draw: Draw, stage: Stage, versions: tuple[str, ...] | None = None) -> Plan:
    """A program under the stage's next prefix, with params and traps."""
    known = stage.versions if versions is None else versions
    program = draw(programs(stage.prefix, len(known) > 1, stage.real_time))
    deeds = [each for each in ("kill", "pause") if stage.offers(each)]
    traps = draw(st.lists(traps_of(program, deeds), max_size=1)) if deeds else []
    stuck = draw(_ONCE_IN_EIGHT) if stage.offers("stuck") else False
    return Plan(program, draw(st.sampled_from(_PARAMS)), tuple(traps), stuck)


def traps_of(program: Program, deeds: list[str], now: bool = False) -> st.SearchStrategy[Trap]:
    """A trap at a point that a program can come by."""
    points = [*(["now"] * 2 if now else []), *points_of(program)]
    return st.builds(Trap, st.sampled_from(deeds), st.sampled_from([*points, "settled"]))


def of_stage(choices: Callable[[Stage], Any]) -> st.SearchStrategy[Any]:
    """A strategy that reads the stage of the machine that runs."""
    return st.runner().flatmap(lambda machine: choices(machine.stage))


def points_of(program: Program, kind: str = "") -> list[str]:
    """The points that an owner may come by in a program, in steps of one kind or of any."""
    return [
        f"{point}:{name}"
        for found, name in named(program.operations)
        if kind in ("", found)
        for point in _POINTS[found]
    ]


def one_of(choices: Callable[[Stage], Any]) -> st.SearchStrategy[Any]:
    return of_stage(lambda stage: st.sampled_from(choices(stage)))


def addresses(stage: Stage) -> list[tuple[str, str]]:
    """An instance, and a type of event for which its program waits somewhere."""
    types = {id: program.types for id, program in stage.programs.items()}
    return [(id, type) for id in stage.ids for type in types.get(id) or TYPES]


def an_event(id: Any, type: Any, payload: str, number: int) -> dict[str, Any]:
    """A `sendEvent`; a payload that is numbered tells it from all others."""
    rest: dict[str, Any] = {} if payload == _NONE else {"payload": {"$oddity": payload}}
    return {"sendEvent": id, "type": type, **({"payload": {"n": number}} if payload == _NUMBERED else rest)}


def event_types(stage: Stage) -> tuple[Any, ...]:
    """Types of events: those that somebody waits for, others, and what is only nearly one."""
    awaited = stage.awaited() or TYPES
    return (*awaited * 8, *(twin for each in awaited for twin in twins_of(each)), *TYPES * 3, *ODD_TYPES)


def a_trap(stage: Stage, deed: str) -> st.SearchStrategy[Trap]:
    """A trap at a point of any program so far."""
    steps = [each for program in stage.programs.values() for each in program.operations]
    return traps_of(Program(tuple(steps)), [deed], now=True)


an_id = one_of(lambda stage: stage.ids)
a_plan = of_stage(plans)
a_call_kind = st.sampled_from(("sendEvent", "terminate"))
