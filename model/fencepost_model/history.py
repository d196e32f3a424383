"""Recorded histories, as `fencepost ask --json` prints them, read back into what happened.

A row has the instant in seconds, the instance, what happened, the reply and the status afterwards. What
happened is written as the machine names it: `CommitAttempt token=1 result={"n":1}`. A row without an instance
is a note on the world (the clock moved, an effect began); instants come from the rows themselves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MILLISECONDS = 1000

REFUSED = frozenset({"Rejected", "Fenced", "Impossible", "BadArgument"})
CREATED = ("Create", "Done")


class UnreadableHistory(ValueError):
    """What is no recorded history; the text says where."""


@dataclass(frozen=True)
class Told:
    """An action or a reply: its name, and its fields that were shown."""

    name: str
    fields: Mapping[str, Any]

    def __getitem__(self, field: str) -> Any:
        return self.fields.get(field)


@dataclass(frozen=True)
class Row:
    """One line of a history: its number from 1, its instant in milliseconds, and what it says."""

    number: int
    at: int
    instance: str
    action: Told
    reply: Told
    status: str
    text: str

    @property
    def refused(self) -> bool:
        """Whether the machine refused it, so that nothing changed."""
        return self.reply.name in REFUSED


_WORD = re.compile(r"\s*([A-Za-z_]\w*)(=)?")
_BARE = re.compile(r"[^\s()]+")
_DECODER = json.JSONDecoder()


def told(text: str) -> Told:
    """An action or a reply as a timeline shows it."""
    return _told(text, 0)[0]


def _told(text: str, at: int) -> tuple[Told, int]:
    name = _WORD.match(text, at)
    if name is None:
        return Told("", {}), len(text)
    at = name.end()
    fields: dict[str, Any] = {}
    while (match := _WORD.match(text, at)) is not None:
        at = match.end()
        if not match[2]:
            fields[match[1]] = True
        elif text.startswith("(", at):
            fields[match[1]], at = _told(text, at + 1)
            at += 1  # the closing parenthesis
        else:
            fields[match[1]], at = _value(text, at)
    return Told(name[1], fields), at


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError:
        bare = _BARE.match(text, at)
        return (bare[0], bare.end()) if bare else ("", len(text))


def rows(document: Any) -> tuple[Row, ...]:
    """The moments of a history, notes on the world left out, or UnreadableHistory."""
    if not isinstance(document, list):
        raise UnreadableHistory("a history is a list of moments, as 'fencepost ask FILE --json' prints it")
    found = []
    for number, moment in enumerate(document, 1):
        try:
            if moment["instance"] and moment["what"][0].isupper():
                action, reply = told(moment["what"]), told(moment["reply"])
                at = round(moment["at"] * MILLISECONDS)
                found.append(
                    Row(number, at, moment["instance"], action, reply, moment["status"], moment["what"])
                )
        except (KeyError, TypeError, IndexError):
            raise UnreadableHistory(f"moment {number} lacks at, instance, what, reply or status") from None
    return tuple(found)


@dataclass(frozen=True)
class Life:
    """The rows of one instance from its creation until it is forgotten, or its resource is deleted."""

    instance: str
    rows: tuple[Row, ...]


def lives(found: Iterable[Row]) -> Iterator[Life]:
    """Every instance that was created, once for each time that its id was."""
    current: dict[str, list[Row]] = {}
    for row in found:
        key = (row.action.name, row.reply.name)
        over = row.action.name in ("Close", "Purge") and not row.refused
        if (key == CREATED or over) and row.instance in current:
            yield Life(row.instance, tuple(current.pop(row.instance)))
        if key == CREATED:
            current[row.instance] = [row]
        elif row.instance in current:
            current[row.instance].append(row)
    for instance, left in current.items():
        yield Life(instance, tuple(left))
