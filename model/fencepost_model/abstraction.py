"""From states of the machine to states of the model: one function for each module.

Nothing here decides; each variable is read off. What a module keeps clear (a token once nobody can own the
instance any more, a deadline once nobody waits) is dead in the machine too, and stands at its empty value
in the image. Time is relative to `now`, in whole seconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from fencepost.machine.records import FrozenMap
from fencepost.machine.state import MILLISECONDS, Context, Failed, Instance, Slot, Step, Terminal

from fencepost_model.bounds import NAMES
from fencepost_model.values import State

NONE = "none"
SLEPT, LOST, OFF = 99, -1, -2
"""The outcome of a sleep; that of a step that failed for good or timed out; no deadline."""

PROGRAM, NUMBER = "program", "n"
"""The key of the params that names the program, and that of a result or payload that carries a number."""


@lru_cache(maxsize=1 << 12)
def carried(document: bytes | None, key: str = NUMBER) -> Any:
    """What a document carries under the key, or 0."""
    return 0 if document is None else json.loads(document).get(key, 0)


def document(key: str, item: Any) -> bytes:
    """The canonical document that carries one thing."""
    return json.dumps({key: item}, separators=(",", ":")).encode()


def program(slot: Slot) -> str:
    """The name of the instance's program, or none."""
    return carried(slot.params, PROGRAM) if isinstance(slot, Instance) else NONE


@lru_cache(maxsize=1 << 12)
def outcome(step: Step | None) -> int:
    """0 while unfinished, what the result carries, or that it slept or failed."""
    if step is None or step.outcome is None:
        return 0
    if isinstance(step.outcome, Failed):
        return LOST
    return SLEPT if step.kind == "sleep" else carried(step.outcome.document)


def end(terminal: Terminal | None) -> str:
    """The reason of an outcome, or the status of one that has none."""
    return NONE if terminal is None else terminal.reason or terminal.status


@lru_cache(maxsize=1 << 14)
def record(names: tuple[str, ...], values: tuple[Any, ...]) -> State:
    """A record; those that return often are kept."""
    return FrozenMap(dict(zip(names, values, strict=True)))


def first_unfinished(steps: Iterable[str], history: Mapping[str, Step]) -> Step | None:
    """The record of the first step that is not finished, if it was begun."""
    for name in steps:
        step: Step | None = history.get(name)
        if step is None or step.outcome is None:
            return step
    return None


def _contexts(slot: Instance, keeps: frozenset[str]) -> frozenset[State]:
    return frozenset(
        record(("token", "open"), (each.token, _open(slot, each, keeps))) for each in slot.contexts
    )


def _open(slot: Instance, context: Context, keeps: frozenset[str]) -> str:
    """The step that a context has open; a fenced one keeps only those kinds whose report could come late."""
    if context.open is None:
        return NONE
    kept = context.token == slot.owner or slot.history[context.open].kind in keeps
    return context.open if kept else NONE


_FENCING = ("prog", "own", "token", "ctx", "hist", "fails", "timer", "dec", "term")


def fencing(slot: Slot) -> State:
    """The image of an instance in `Fencing`."""
    if not isinstance(slot, Instance):
        return FrozenMap(
            dict(zip(_FENCING, (NONE, 0, 0, frozenset(), _NOTHING, 0, False, NONE, NONE), strict=True))
        )
    step = first_unfinished(NAMES, slot.history) if slot.live else None
    found = (
        program(slot),
        slot.owner,
        0 if slot.terminal else slot.token,
        _contexts(slot, frozenset({"do"})),
        _history(slot),
        step.failures if step else 0,
        step is not None and step.deadline is not None,
        end(slot.decision),
        end(slot.terminal),
    )
    return FrozenMap(dict(zip(_FENCING, found, strict=True)))


_WAITS = (
    *("prog", "own", "token", "ctx", "hist", "left", "life", "inbox", "accepted", "dec", "term", "keep"),
)


def waits(slot: Slot, now: int) -> State:
    """The image of an instance in `Waits` at `now` (ms)."""
    if not isinstance(slot, Instance):
        empty: tuple[Any, ...] = (NONE, 0, 0, frozenset(), _NOTHING, OFF, 0, (), 0, NONE, NONE, 0)
        return FrozenMap(dict(zip(_WAITS, empty, strict=True)))
    step = first_unfinished(NAMES, slot.history) if slot.live else None
    ending = slot.terminal or slot.decision
    kept_until = slot.terminal_at if slot.terminal else slot.decision.at if slot.decision else 0
    kept_until += slot.rules.limits.retention_seconds * MILLISECONDS
    found = (
        program(slot),
        slot.owner,
        slot.token if slot.live else 0,
        _contexts(slot, frozenset()),
        _history(slot),
        OFF if step is None or step.deadline is None else max(_seconds(step.deadline - now), -1),
        max(_seconds(slot.ends_at - now), 0) if slot.live else 0,
        tuple((event.number, event.type) for event in slot.inbox),
        slot.accepted,
        end(slot.decision),
        end(slot.terminal),
        max(_seconds(kept_until - now), 0) if ending else 0,
    )
    return FrozenMap(dict(zip(_WAITS, found, strict=True)))


_INSTANCE = ("held", "own", "token", "work", "timer", "end")
_CONTEXT = ("uid", "id", "token", "busy")
_RESOURCE = ("uid", "phase", "bound", "inst", "ctx")
ABSENT = record(_INSTANCE, (False, 0, 0, 0, 0, NONE))


def instance(slot: Slot, uid: int) -> State:
    """The image in `Resource` of what a UID holds under one id."""
    if not isinstance(slot, Instance):
        return ABSENT
    step = slot.history.get(NAMES[0])
    delayed = slot.live and step is not None and step.deadline is not None
    ending = slot.decision or slot.terminal
    found = (
        True,
        slot.owner,
        slot.token if slot.live else 0,
        outcome(step),
        uid if delayed else 0,
        NONE if ending is None else ending.status,
    )
    return record(_INSTANCE, found)


Running = tuple[int, str, int]
"""A context by UID, id and token."""


def resource(
    uid: int,
    phase: str,
    bound: bool,
    slots: Sequence[Mapping[str, Slot]],
    forgotten: Iterable[Running] = (),
) -> State:
    """The image of a name in `Resource`; `slots` has what each UID holds, the present one last.

    `forgotten` are contexts that run although the machine no longer knows of them: there must be none.
    """
    contexts = frozenset(
        record(
            ("uid", "id", "token", "busy"), (number, id, each.token, _open(slot, each, frozenset()) != NONE)
        )
        for number, held in enumerate(slots, 1)
        for id, slot in held.items()
        if isinstance(slot, Instance)
        for each in slot.contexts
    ) | {record(_CONTEXT, (*each, False)) for each in forgotten}
    held = FrozenMap({id: instance(slot, uid) for id, slot in slots[-1].items()})
    return record(_RESOURCE, (uid, phase, bound, held, contexts))


def _history(slot: Instance) -> State:
    history = slot.history
    return record(NAMES, tuple(outcome(history.get(name)) for name in NAMES))


def _seconds(milliseconds: int) -> int:
    return milliseconds // MILLISECONDS


_NOTHING = record(NAMES, (0,) * len(NAMES))
