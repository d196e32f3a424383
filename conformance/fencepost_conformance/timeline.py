"""What the reference did in a scenario, moment by moment, with the clauses behind each move.

A `Watched` reference keeps its Host after the scenario and notes, at their places in the Host's trace, the
two things that the machine does not see: what the world did (a clock that moved, an owner that was killed)
and effects that began and ended. `timeline` merges them into rows. Actions and replies are shown under the
names that the machine gives them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

from .adapter import Absent, Call, Setup
from .hosts.reference import ReferenceAdapter

_UNSHOWN = frozenset({"now", "lease_until", "size"})  # the instant stands in front; the others follow from it

# methods of the adapter by which the world acts, and nothing of which the machine's trace shows
_WORLD = frozenset(
    {"advance", "kill", "pause", "resume", "stuck", "unstuck", "backend", "restart", "hold_wakes"}
    | {"drop_response", "deploy", "resource", "verify", "unbind", "bind", "recreate_resource"}
)


@dataclass(frozen=True)
class Row:
    """One line of a timeline; `at` is in milliseconds, `status` that of the instance after the move."""

    at: int
    instance: str
    what: str
    reply: str = ""
    status: str = ""
    clauses: tuple[str, ...] = ()


class Watched(ReferenceAdapter):
    """The reference, remembering what it went through."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[tuple[int, Row]] = []  # place in the trace, and what came before it
        self.kept: Any = None

    def __getattribute__(self, name: str) -> Any:
        method = super().__getattribute__(name)
        return _noting(self, name, method) if name in _WORLD else method

    def begin(self, setup: Setup) -> None:
        """Begin the scenario, and listen to its journal."""
        super().begin(setup)
        self.kept = self.host
        setup.journal.on_effect_start.append(lambda instance, step: self._effect(instance, step, "begins"))
        setup.journal.on_effect_end.append(lambda instance, step: self._effect(instance, step, "ends"))

    def note(self, what: str, instance: str = "") -> None:
        """Note something at the present place of the trace."""
        self.notes.append((len(self.kept.trace), Row(self.kept.now, instance, what)))

    def _effect(self, instance: str, step: str, moment: str) -> None:
        self.note(f"the effect of {json.dumps(step)} {moment}", instance)


def timeline(watched: Watched) -> Iterator[Row]:
    """The rows of a scenario that has ended, in order."""
    notes = iter([*watched.notes, (len(watched.kept.trace), None)])
    place, note = next(notes)
    for index, moment in enumerate([*watched.kept.trace, None]):
        while note is not None and place <= index:
            yield note
            place, note = next(notes)
        if moment is not None:
            yield Row(
                moment.at,
                moment.instance,
                shown(moment.action),
                shown(moment.reply),
                moment.status or "",
                moment.clauses,
            )


def shown(data: Any) -> str:
    """An action or a reply: its name, and its fields that are neither empty nor derived."""
    parts = [type(data).__name__]
    for each in fields(data):
        value = getattr(data, each.name)
        if each.name in _UNSHOWN or value is None or value is False:
            continue
        parts.append(each.name if value is True else f"{each.name}={_value(value)}")
    return " ".join(parts)


def _value(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, Enum):
        return str(value.value)
    if hasattr(value, "__dataclass_fields__"):
        return f"({shown(value)})"
    if isinstance(value, Mapping):
        return json.dumps({str(key): each for key, each in value.items() if not callable(each)}, default=repr)
    return json.dumps(value, default=repr)


def _noting(watched: Watched, name: str, method: Any) -> Any:
    def noted(*arguments: Any, **named: Any) -> Any:
        watched.note(" ".join([name, *(_argument(each) for each in (*arguments, *named.values()))]))
        return method(*arguments, **named)

    return noted


def _argument(value: Any) -> str:
    if isinstance(value, Call):
        return value.op
    return "" if isinstance(value, Absent) else _value(value)
