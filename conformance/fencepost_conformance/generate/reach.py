"""Which clauses generation reaches without any single move showing it, and which it cannot reach, with
reasons.

`SITUATIONS` names, for a thing that a scenario can contain, the clauses that it tries. `OUT_OF_REACH` covers
the rest: directed scenarios measure those. A clause that is in neither, and that no move of the machine
names, is one that generation has forgotten; a test holds that there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fencepost.host.calls import Moment
from fencepost.machine.actions import BeginStep, CommitAttempt, Create, EndLifetime, Purge, Unfit
from fencepost.machine.replies import Accepted, BadArgument, Pending, Recorded, Replaying, Run
from fencepost.machine.state import Succeeded

from ..judge.contents import mappings
from ..observations import Observation

# a key or a word somewhere in a program -> the clauses that a program with it tries
IN_PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "do": ("STP-1", "STP-14", "ABI-2", "ABI-1"),
    "sleep": ("STP-1", "STP-14", "STP-12"),
    "wait": ("STP-1", "STP-14", "STP-12", "STP-16"),
    "retry": ("DO-2",),
    "attempts": ("DO-6a",),
    "rethrow": ("ERR-2", "ERR-5"),
    "throwCopyOf": ("ERR-2",),
    "throwCauseOf": ("ERR-5",),
    "handler": ("ERR-4",),
    "unawaited": ("STP-17",),
    "$params": ("DOC-9",),
    "moduleCounter": ("CTX-1",),
    "__proto__": ("DOC-10", "DOC-3"),
}

# a word of the schedule -> the clauses that a scenario with it tries
IN_SCHEDULES: Mapping[str, tuple[str, ...]] = {
    "deleteResource": ("DEL-2", "DEL-4", "DEL-6"),
    "recreateResource": ("DEL-7", "RES-9"),
    "restart": ("LIF-4", "WFE-9"),
    "holdWakes": ("WFE-6", "WFE-5a", "EVT-11"),
    "dropResponse": ("BND-3",),
    "get": ("BND-1",),
}

ODDITIES: Mapping[str, tuple[str, ...]] = {
    "negativeZero": ("DOC-9", "DOC-2"),
    "nestedUndefined": ("DOC-4", "DOC-7"),
    "arrayRoot": ("DOC-1",),
    "properties1025": ("DOC-1",),
    "nan": ("DOC-3",),
    "sharedObject": ("DOC-5",),
    "accessor": ("DOC-6",),
    "toJSONFunction": ("DOC-6",),
}
MANY_STEPS = 1000  # a loop of more turns comes to the limit of steps

# a situation that the trace of the reference shows, though no single move of it names the clause
TERMINAL = ("complete", "errored", "terminated")
IN_TRACES: tuple[tuple[str, str], ...] = (
    ("a finished name under another kind", "STP-3a"),
    ("a name used rightly after a refused call", "STP-4a"),
    ("a pending step in a later context", "STP-5"),
    ("a result that is no document", "DO-8"),
    ("a replay of undefined", "STP-13"),
    ("an end with an event that nobody took", "EVT-6"),
    ("the end of a lifetime while parked", "LIF-3a"),
)

Predicate = Callable[[Mapping[str, Any], Sequence[Observation]], bool]


def _answered(kind: Callable[[Observation], bool]) -> Predicate:
    return lambda document, observations: any(kind(each) for each in observations)


def _error(observation: Observation) -> str:
    error = getattr(observation.answer, "error", None)
    return error[0] if error else ""


def _status(observation: Observation) -> Mapping[str, Any]:
    value = getattr(observation.answer, "value", None)
    return value if observation.word == "status" and isinstance(value, dict) else {}


# what was seen -> the clauses that it tries
SEEN: tuple[tuple[Predicate, tuple[str, ...]], ...] = (
    (_answered(lambda each: _error(each) == "backend_unavailable"), ("BND-8", "BND-13")),
    (_answered(lambda each: "error" in _status(each)), ("BND-7",)),
    (_answered(lambda each: _status(each).get("status") == "complete"), ("ABI-3",)),
    (_answered(lambda each: each.word == "create" and not _error(each)), ("BND-2", "EXT-1")),
    (lambda document, observations: "versions" in document, ("CTX-2", "SLP-5")),
    (lambda document, observations: _sends(document, "GO"), ("EVT-8",)),
    (lambda document, observations: _loops(document) > MANY_STEPS, ("STP-9", "STP-9a")),
    (lambda document, observations: _rethrows_inside(document), ("ERR-6",)),
)

_MANAGEMENT = "a request to the management API; generated schedules only delete and create the resource again"
OUT_OF_REACH: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("RES-1", "RES-2", "RES-3", "RES-4", "RES-5", "RES-6", "RES-7", "RES-8", "RES-10", "RES-11"),
            *("OBS-1", "OBS-2", "OBS-2a", "DEL-1", "DEL-8", "DEL-9"),
        ),
        _MANAGEMENT,
    ),
    "EXT-2": "it cannot be observed",
}


def tried(document: Mapping[str, Any], observations: Sequence[Observation]) -> Iterator[str]:
    """The clauses that a scenario tries by what it contains and what was seen in it, each once."""
    words = set(_words(document.get("programs", {})))
    schedule = {word for entry in document.get("schedule", ()) for word in entry}
    kinds = set(_oddities(document))
    found = [clauses for word, clauses in IN_PROGRAMS.items() if word in words]
    found += [clauses for word, clauses in IN_SCHEDULES.items() if word in schedule]
    found += [clauses for kind, clauses in ODDITIES.items() if kind in kinds]
    found += [clauses for holds, clauses in SEEN if holds(document, observations)]
    yield from dict.fromkeys(clause for clauses in found for clause in clauses)


def shown(trace: Iterable[Moment]) -> Iterator[str]:
    """The clauses that a trace tries by what comes after what."""
    clauses = dict(IN_TRACES)
    for situation in _situations(trace):
        yield clauses[situation]


def _situations(trace: Iterable[Moment]) -> Iterator[str]:
    begun: dict[tuple[str, Any], tuple[str, int]] = {}
    refused: set[tuple[str, Any]] = set()
    queued: set[str] = set()
    parked: dict[str, str | None] = {}
    for moment in trace:
        if isinstance(moment.reply, Accepted) and not moment.reply.handed_over:
            queued.add(moment.instance)
        if moment.status in TERMINAL and moment.instance in queued:
            queued.remove(moment.instance)
            yield "an end with an event that nobody took"
        action, reply = moment.action, moment.reply
        if isinstance(action, EndLifetime) and parked.get(moment.instance) in ("sleeping", "waiting"):
            yield "the end of a lifetime while parked"
        parked[moment.instance] = moment.status
        if isinstance(action, CommitAttempt) and isinstance(action.result, Unfit):
            yield "a result that is no document"
        if isinstance(action, Create | Purge):
            begun = {key: value for key, value in begun.items() if key[0] != moment.instance}
        if not isinstance(action, BeginStep) or not isinstance(action.name, str):
            continue
        key = (moment.instance, action.name)
        if isinstance(reply, BadArgument):
            refused.add(key)
        elif key in refused:
            refused.remove(key)
            yield "a name used rightly after a refused call"
        kind, token = begun.get(key, (action.kind, action.token))
        if isinstance(reply, Recorded | Replaying):
            if kind != action.kind:
                yield "a finished name under another kind"
            if isinstance(reply.outcome, Succeeded) and reply.outcome.document is None:
                yield "a replay of undefined"
        elif isinstance(reply, Run | Pending):
            if token != action.token:
                yield "a pending step in a later context"
            begun[key] = (action.kind, action.token)


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield key
            yield from _words(child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from _words(child)


def _oddities(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, child in value.items():
            if key in ("$oddity", "oddity") and isinstance(child, str):
                yield child
            else:
                yield from _oddities(child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from _oddities(child)


def _loops(document: Mapping[str, Any]) -> int:
    turns = (each["repeat"] for each in mappings(document.get("programs", {})) if "repeat" in each)
    return max((each for each in turns if isinstance(each, int)), default=0)


def _rethrows_inside(document: Mapping[str, Any]) -> bool:
    nested = (each.get("nested") for each in mappings(document.get("programs", {})))
    return any(isinstance(each, Mapping) and "rethrow" in each for each in nested)


def _sends(document: Mapping[str, Any], type: str) -> bool:
    return any(
        entry.get("sendEvent") is not None and entry.get("type") == type for entry in document["schedule"]
    )
