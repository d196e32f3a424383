"""Which clauses speak against what was seen, the likeliest first.

Three witnesses are heard. The *answer*: what was seen, held against what was possible instead and against
where the instance stood, says what is wrong (tables of what was seen instead of what). The *trail*: the
clauses that the machine named for the moves that led to the possible states, the last ones first. The
*contents* of the scenario (`contents`): what is out of the ordinary in it. Each gives a clause so many points
(`POINTS`), and what has the most is blamed. That is for a reader, and for a report; whether something is
admitted does not depend on it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fencepost.machine import parked_on
from fencepost.machine.state import Failed, Instance, Step

from .states import State

_TERMINAL = frozenset({"complete", "errored", "terminated"})
_PARKED = frozenset({"sleeping", "waiting"})
_STATUSES = _TERMINAL | _PARKED | {"queued", "running"}

REASONS: Mapping[str, tuple[str, ...]] = {
    "lifetime_exceeded": ("LIF-1", "LIF-5", "LIF-4", "LIF-3a"),
    "step_limit_exceeded": ("STP-9", "STP-9a"),
    "step_definition_mismatch": ("STP-6", "STP-8", "STP-7", "STP-4"),
    "step_failed": ("ERR-3", "ERR-2", "DO-7"),
    "run_threw": ("ERR-3", "ABI-4", "STP-4"),
}
"""Reason, seen or possible where the other was not -> what decides on it."""

WAKES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("sleep", ""): ("SLP-2", "SLP-1", "SLP-4"),
    ("sleep", "run_threw"): ("SLP-1", "STP-4"),
    ("wait", ""): ("WFE-5", "WFE-2", "WFE-6", "EVT-8", "WFE-11"),
    ("wait", "run_threw"): ("WFE-5", "STP-4", "WFE-6", "WFE-1"),
    ("do", ""): ("DO-10", "DO-3", "DO-1"),
    ("do", "run_threw"): ("DO-2", "STP-4"),
    ("do", "step_failed"): ("DO-7", "DO-10", "DO-3", "DO-2"),
}
"""Kind of the step that an instance is parked on, and the reason that was seen, if that tells something ->
what decides on going on from there."""

SHOWN: Mapping[str, tuple[str, ...]] = {
    "sleep": ("SLP-2", "BND-5"),
    "wait": ("WFE-3", "BND-5"),
    "do": ("BND-5", "DO-5"),
}
"""Kind of the step that an instance is parked on -> what decides on the status that is shown then."""

LEFT: Mapping[str, tuple[str, ...]] = {
    "waiting": ("EVT-7", "WFE-7", "WFE-10", "WFE-5"),
    "sleeping": ("SLP-2", "DO-10"),
}
"""Status that was seen although the instance had to go on -> what decides on that."""

OUTCOME = ("ABI-3", "STP-14", "DOC-9", "STP-3", "CTX-1", "ABI-2")
"""What decides on an output, whatever the run did."""

REFUSALS: Mapping[str, tuple[str, ...]] = {
    "event_queue_full": ("EVT-3", "EVT-4", "EVT-5"),
    "instance_terminal": ("EVT-2", "TRM-6"),
    "instance_exists": ("BND-3", "RET-1"),
    "unknown_instance": ("BND-4", "RET-1", "EVT-2"),
    "invalid_params": ("DOC-8", "DOC-4", "DOC-1"),
    "document_too_large": ("DOC-2", "DOC-8"),
    "backend_unavailable": ("BND-8",),
}
"""Rejection, seen or possible where the other was not -> what decides on it."""

TAKEN: Mapping[str, tuple[str, ...]] = {
    **REFUSALS,
    "invalid_params": ("DOC-4", "DOC-1", "DOC-3"),
    "any": ("EVT-1", "BND-2", "DOC-4"),
}
"""Rejection that was due where none was seen -> what decides on it."""

KEPT: Mapping[str, tuple[str, ...]] = {
    "wait": ("WFE-8", "WFE-2", "WFE-4", "EVT-9"),
    "do": ("DO-6", "STP-3", "STP-14", "DO-1"),
    "sleep": ("STP-14",),
}
"""Kind of a step whose result is in an output -> what decides on it."""

ROUTINE = frozenset(
    (*OUTCOME, "TRM-1", "PUB-1", "CTX-2", "CTX-3", "LIF-1", "BND-3", "BND-5", "BND-6", "BND-12")
)
"""What the machine names in the life of every instance."""

PLAIN = frozenset(
    (
        *("DO-1", "DO-4", "DO-6", "SLP-1", "SLP-4", "WFE-1", "WFE-3", "STP-3", "STP-5", "ERR-3"),
        *("EVT-1", "EVT-6", "EVT-7", "EVT-9", "BND-4", "RET-1", "PUB-2"),
    )
)
"""What the machine names for most steps and events."""


class Witnesses(NamedTuple):
    """What two of the witnesses say; the third is asked where the whole scenario is known. What an answer
    only `hints` at is shared by many faults, and what it makes `plain` by hardly any."""

    answer: tuple[str, ...] = ()
    trail: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()


class Points(NamedTuple):
    """The points of what a witness names first, what each place further down loses, and the least."""

    first: float
    loss: float
    least: float


POINTS = {
    "plain to see": Points(9.0, 0.5, 1.0),
    "answer": Points(3.0, 0.3, 1.0),
    "hints": Points(0.9, 0.2, 0.3),
    "peculiar": Points(2.0, 0.15, 0.5),
    "plain": Points(0.7, 0.0, 0.7),
    "routine": Points(0.2, 0.0, 0.2),
}
_NOBODY = ("EXT-1",)  # what no witness can explain was added


def ranked(witnesses: Witnesses, contents: Mapping[str, float]) -> list[str]:
    """All clauses that a witness names, those with the most points first."""
    points: dict[str, float] = defaultdict(float)
    trail = list(dict.fromkeys(witnesses.trail))
    answer = list(dict.fromkeys(witnesses.answer))
    heard = {
        "plain to see": list(dict.fromkeys(witnesses.plain)),
        "answer": answer,
        "hints": [clause for clause in dict.fromkeys(witnesses.hints) if clause not in answer],
        "peculiar": [clause for clause in trail if clause not in ROUTINE | PLAIN],
        "plain": [clause for clause in trail if clause in PLAIN],
        "routine": [clause for clause in trail if clause in ROUTINE - PLAIN],
    }
    for kind, clauses in heard.items():
        worth = POINTS[kind]
        for place, clause in enumerate(clauses):
            points[clause] += max(worth.first - worth.loss * place, worth.least)
    for clause, added in contents.items():
        points[clause] += added
    return sorted(points, key=lambda clause: -points[clause]) or list(_NOBODY)


# The answer


def of_answer(seen: Any, possible: Iterable[Any], states: Iterable[State]) -> Iterator[str]:
    """What an answer to a call says against the Host, seen and possible both as a reader sees them."""
    possible, states = list(possible), list(states)
    shown = seen if isinstance(seen, dict) else {}
    if seen != "no answer" and "no answer" in possible and "error" not in shown:
        yield from ("TRM-2", "TRM-1")
    if "status" in shown and any(_is_status(each) for each in possible):
        yield from _of_status(shown, [each for each in possible if _is_status(each)], states)
        return
    yield from _of_errors(shown, possible)


def plain_of(seen: Any, possible: Iterable[Any]) -> Iterator[str]:
    """What an answer makes plain by a word that the Form does not have, or not there."""
    if not isinstance(seen, dict):
        return
    names = {
        each["error"] for each in possible if isinstance(each, dict) and isinstance(each.get("error"), str)
    }
    if "status" in seen and seen["status"] not in _STATUSES:
        yield from ("BND-5", "EXT-1")
    if _is_status(seen) and _reason(seen) not in ("", *REASONS):
        yield from ("BND-7", "LIF-1")
    if isinstance(seen.get("error"), str) and seen["error"] not in REFUSALS and names & REFUSALS.keys():
        yield "BND-13"


def hints_of(seen: Any, possible: Iterable[Any]) -> Iterator[str]:
    """What the reasons in an answer hint at, seen or possible."""
    for reason in dict.fromkeys(_reason(each) for each in (seen, *possible) if _is_status(each)):
        yield from REASONS.get(reason, ())


def _is_status(answer: Any) -> bool:
    return isinstance(answer, dict) and "status" in answer


def _of_errors(shown: Mapping[str, Any], possible: list[Any]) -> Iterator[str]:
    names = {
        each["error"] for each in possible if isinstance(each, dict) and isinstance(each.get("error"), str)
    }
    name = shown.get("error")
    rejected = isinstance(name, str) and "status" not in shown
    if rejected and not names:
        yield from REFUSALS.get(str(name), ())
    table = REFUSALS if rejected else TAKEN
    for other in sorted(names - {name}):
        yield from table.get(other, ())
    if rejected:
        yield from REFUSALS.get(str(name), ())


def _of_status(
    shown: Mapping[str, Any], possible: list[Mapping[str, Any]], states: list[State]
) -> Iterator[str]:
    status, statuses = shown["status"], {each["status"] for each in possible}
    if status not in _STATUSES:
        return
    if status in statuses:
        yield from _of_outcome(shown, [each for each in possible if each["status"] == status])
        return
    if status in _TERMINAL | _PARKED and statuses <= {"running"}:
        yield "PUB-1"
    if "terminated" in (status, *statuses):
        yield from ("TRM-1", "TRM-3", "TRM-2")
    forced = {"lifetime_exceeded", "step_limit_exceeded", "step_definition_mismatch"}
    for reason in (_reason(shown), *map(_reason, possible)):
        if reason in forced and (reason == _reason(shown) or status not in _TERMINAL):
            yield from REASONS[reason]
    parked = list(_parked(states))
    if not parked:
        yield from LEFT.get(status, ())
    for step in parked:
        if status in _PARKED | {"running", "queued"}:
            yield from SHOWN[step.kind]
        else:
            yield from WAKES.get((step.kind, _reason(shown))) or WAKES[step.kind, ""]


def _of_outcome(shown: Mapping[str, Any], possible: list[Mapping[str, Any]]) -> Iterator[str]:
    """The status is right, and the output or the reason is not."""
    if shown["status"] == "errored":
        reasons = dict.fromkeys(_reason(each) for each in (shown, *possible))
        if not _reason(shown):
            yield from ("BND-12", "BND-7", "RET-1")
        for reason in reasons:
            yield from REASONS.get(reason, ())
        return
    given = "output" in shown
    if given and not any("output" in each for each in possible):
        yield from ("BND-6", "BND-12", "ABI-3")
    elif not given:
        yield from ("DOC-7",) if any(each.get("output") == {} for each in possible) else ()
        yield from ("BND-12", "ABI-3", "RET-1")
    yield from OUTCOME


def _reason(answer: Mapping[str, Any]) -> str:
    error = answer.get("error")
    return str(error.get("reason") or "") if isinstance(error, dict) else ""


def _parked(states: Iterable[State]) -> Iterator[Step]:
    for state in states:
        step = parked_on(state.slot) if isinstance(state.slot, Instance) else None
        if step is not None:
            yield step


# Counts


def of_effects(name: str, seen: int, possible: Iterable[int], states: Iterable[State]) -> Iterator[str]:
    """What a count of effects says: begun too often, begun where it could not be, or not begun."""
    most, states = max(possible, default=0), list(states)
    if seen < most:
        if most > 1:
            yield from ("DO-2", "DO-3", "DO-7")
        return
    if most == 0:
        for step in _parked(states):
            yield from WAKES[step.kind, ""]
        return
    slots = [state.slot for state in states if isinstance(state.slot, Instance)]
    for step in dict.fromkeys(slot.history.get(name) for slot in slots):
        yield from _of_repetition(step)
    yield from ("DO-6", "DO-6a", "STP-3", "DO-2", "BND-3")


def _of_repetition(step: Step | None) -> tuple[str, ...]:
    if step is None:
        return ()
    if step.outcome is None:
        return ("DO-10", "DO-3", "DO-5") if step.deadline is not None else ("DO-6a", "DO-6", "DO-2")
    return ("DO-7", "DO-2", "STP-3") if isinstance(step.outcome, Failed) else ("DO-6", "STP-3", "DO-4")


def of_marks(seen: int) -> tuple[str, ...]:
    """What a mark says that was passed where it could not be, or not passed."""
    return ("STP-12", "TRM-4", "STP-6", "TRM-1") if seen else ("CTX-3",)


RUNS = ("CTX-3", "DO-5", "ABI-2")
RUNS_OF_NOBODY = ("ABI-2", "BND-3")


# What the programs say of an answer: which step a member of an output comes from, and what an effect does


def of_programs(seen: Any, possible: Sequence[Any], programs: Mapping[str, Any]) -> Iterator[str]:
    """What decides on an output that differs from all that were possible, or on an effect that fails."""
    if isinstance(seen, dict) and isinstance(seen.get("effects"), dict):
        for name in seen["effects"]:
            if any(_fails(effect) for effect in _effects(name, programs)):
                yield from ("DO-7", "DO-2")
    output = _output(seen)
    others = [each for each in map(_output, possible) if each is not None]
    if output is None or not others:
        return
    kinds = dict(_kinds(programs))
    for key in dict.fromkeys([*output, *(key for each in others for key in each)]):
        if any(each.get(key) == output.get(key) and (key in each) == (key in output) for each in others):
            continue
        if key in kinds:
            yield from KEPT[kinds[key]]
        elif key == "c":
            yield from ("CTX-1", "ABI-2", "CTX-3")
        elif key.startswith("of-"):
            yield "ERR-1"
        elif key[:1] == "e" and key[1:].isdigit():
            yield from ("ERR-1", "WFE-5", "STP-4")
        else:
            yield from ("ABI-3", "STP-14")


def _effects(name: str, value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        if value.get("do") == name:
            yield value.get("effect")
        for child in value.values():
            yield from _effects(name, child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from _effects(name, child)


def _fails(effect: Any) -> bool:
    if not isinstance(effect, Mapping):
        return False
    inner = [*effect.get("attempts", ())[:1], effect.get("then")]
    return "throw" in effect or "oddity" in effect or any(map(_fails, inner))


def _output(answer: Any) -> Mapping[str, Any] | None:
    output = answer.get("output") if isinstance(answer, dict) else None
    return output if isinstance(output, dict) else None


def _kinds(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for kind in KEPT:
            if isinstance(value.get(kind), str):
                yield value[kind], kind
        for child in value.values():
            yield from _kinds(child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from _kinds(child)
