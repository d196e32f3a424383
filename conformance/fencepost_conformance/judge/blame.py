"""Which clauses speak against what was seen.

The first are those of the moves that would have been needed: what the answer that was seen, held against the
answers that were possible, says is wrong (tables of what was seen instead of what). Then follow the clauses
that the machine named for the moves that led to the possible states, the last ones first, and for the reply
itself. They are for a reader, and for a report; whether something is admitted does not depend on them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fencepost.machine import parked_on
from fencepost.machine.state import Instance

from .states import State

_TERMINAL = frozenset({"complete", "errored", "terminated"})
_PARKED = frozenset({"sleeping", "waiting"})

REASONS: Mapping[str, tuple[str, ...]] = {
    "lifetime_exceeded": ("LIF-1", "LIF-5", "LIF-4", "LIF-3a"),
    "step_limit_exceeded": ("STP-9", "STP-9a"),
    "step_definition_mismatch": ("STP-6", "STP-8", "STP-7", "STP-4"),
    "step_failed": ("ERR-3", "ERR-2", "DO-7"),
    "run_threw": ("ERR-3", "ABI-4", "STP-4"),
}
"""Reason, seen or possible where the other was not -> what decides on it."""

ODDITIES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("arrayRoot", "nullRoot", "stringRoot", "properties1024", "properties1025"), ("DOC-1",)),
    **dict.fromkeys(
        ("hole", "nan", "infinity", "loneSurrogateValue", "loneSurrogateKey"), ("DOC-3", "DOC-4")
    ),
    **dict.fromkeys(("accessor", "accessorThatThrows", "toJSONFunction"), ("DOC-4", "DOC-6")),
    "sharedObject": ("DOC-5",),
    "nestedUndefined": ("DOC-4", "DOC-3"),
    "ownProto": ("DOC-10",),
    "negativeZero": ("DOC-9",),
}
"""Kind of an odd value -> what says whether it is a document, and as what it comes back."""

_OTHER_ODDITY = ("DOC-4",)
_DOCUMENT_WORDS = ("$size", "$repeat", "$string", "$array")

WAKES: Mapping[str, tuple[str, ...]] = {
    "sleep": ("SLP-2", "SLP-1", "SLP-4"),
    "wait": ("WFE-5", "WFE-5a", "WFE-6", "WFE-2", "EVT-8", "WFE-11"),
    "do": ("DO-10", "DO-3"),
}
"""Kind of the step that an instance is parked on -> what decides on its wake."""

OUTCOME = ("ABI-3", "STP-14", "DOC-9", "STP-3", "CTX-1", "ABI-2")
"""What decides on an output, whatever the run did."""

ROUTINE = (*OUTCOME, "TRM-1", "PUB-1", "CTX-2", "CTX-3", "LIF-1", "BND-3", "BND-5", "BND-6", "BND-12")
"""What the machine names in the life of every instance; in a trail it stands behind all else."""

FOREMOST = 5
"""Of what is peculiar to a trail, so many stand before what decides on every output."""

REFUSALS: Mapping[str, tuple[str, ...]] = {
    "event_queue_full": ("EVT-3", "EVT-4", "EVT-5"),
    "instance_terminal": ("EVT-2", "TRM-6"),
    "instance_exists": ("BND-3", "RET-1"),
    "unknown_instance": ("BND-4", "RET-1", "EVT-2"),
    "invalid_params": ("DOC-8", "DOC-1"),
    "document_too_large": ("DOC-2", "DOC-8"),
    "backend_unavailable": ("BND-8",),
}
"""Rejection, seen or possible where the other was not -> what decides on it."""


def ordered(first: Iterable[str], trail: Iterable[str]) -> list[str]:
    """What speaks first, then what a trail names: what is peculiar to it before what is routine."""
    first, trail = list(dict.fromkeys(first)), list(dict.fromkeys(trail))
    peculiar = [clause for clause in trail if clause not in ROUTINE]
    return [
        *(clause for clause in first if clause not in OUTCOME),
        *peculiar[:FOREMOST],
        *(clause for clause in first if clause in OUTCOME),
        *peculiar[FOREMOST:],
        *(clause for clause in trail if clause in ROUTINE),
    ]


def of_answer(seen: Any, possible: Iterable[Any], states: Iterable[State]) -> Iterator[str]:
    """What an answer to a call says against the Host, seen and possible both as a reader sees them."""
    possible, states = list(possible), list(states)
    shown = seen if isinstance(seen, dict) else {}
    if shown.get("ok") and "no answer" in possible:
        yield from ("TRM-2", "TRM-1")
    yield from _of_errors(shown, possible)
    statuses = {each["status"] for each in possible if isinstance(each, dict) and "status" in each}
    status = shown.get("status")
    if status is None:
        return
    if status in statuses:
        yield from _of_outcome(shown, possible)
        return
    if status in _TERMINAL | _PARKED and statuses <= {"running"}:
        yield "PUB-1"
    if "terminated" in (status, *statuses):
        yield from ("TRM-1", "TRM-3", "TRM-2")
    for reason in _reasons([shown, *possible]):
        yield from REASONS.get(reason, ())
    yield from _of_needed(states)


def _of_errors(shown: Mapping[str, Any], possible: list[Any]) -> Iterator[str]:
    names = {each["error"] for each in possible if isinstance(each, dict) and _is_name(each.get("error"))}
    seen = {shown["error"]} if _is_name(shown.get("error")) else set()
    for name in sorted(names ^ seen):
        yield from REFUSALS.get(name, ())


def _is_name(error: Any) -> bool:
    return isinstance(error, str)


def _reasons(documents: Iterable[Any]) -> list[str]:
    found = []
    for each in documents:
        error = each.get("error") if isinstance(each, dict) else None
        if isinstance(error, dict) and error.get("reason") not in found:
            found.append(error.get("reason"))
    return [str(each) for each in found]


def _of_outcome(shown: Mapping[str, Any], possible: list[Any]) -> Iterator[str]:
    """The status is right, and the output or the reason is not."""
    if "error" in shown:
        for reason in _reasons([shown, *possible]):
            yield from REASONS.get(reason, ())
    else:
        yield from OUTCOME


def _of_needed(states: Iterable[State]) -> Iterator[str]:
    """What decides on the wake that a parked instance waits for."""
    for state in states:
        slot = state.slot
        step = parked_on(slot) if isinstance(slot, Instance) else None
        if step is not None:
            yield from WAKES[step.kind]


def of_effects(seen: int, possible: Iterable[int]) -> tuple[str, ...]:
    """What a count of effects says: begun too often, or not begun."""
    most = max(possible, default=0)
    if seen > most:
        return ("DO-6", "DO-6a", "STP-3", "DO-2", "BND-3", "TRM-4", "STP-6")
    return ("DO-2", "DO-3", "DO-4", "DO-5", "SLP-2", "STP-3")


def of_documents(value: Any) -> Iterator[str]:
    """What speaks about the odd values that an entry or a program holds."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, Mapping):
            for word, argument in each.items():
                if word in ("$oddity", "oddity") and isinstance(argument, str):
                    yield from ODDITIES.get(argument, _OTHER_ODDITY)
                elif word in _DOCUMENT_WORDS:
                    yield from ("DOC-2", "DOC-3")
            pending.extend(each.values())
        elif isinstance(each, list):
            pending.extend(each)
