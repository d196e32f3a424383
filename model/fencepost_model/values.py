"""TLC's printed values, read into Python values that can be compared and hashed.

Integers, booleans and strings become themselves; a set becomes a frozenset, a sequence a tuple, a record or a
function a `FrozenMap`, a model value a `ModelValue`. In TLA+ a record is a function over strings, and a
sequence one over 1..n; TLC prints the latter as a sequence always, so no map here has the keys 1..n.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fencepost.machine.records import FrozenMap


class UnreadableValue(ValueError):
    """A text that TLC does not print as a value."""


@dataclass(frozen=True)
class ModelValue:
    """A model value: it equals nothing but itself, and no string."""

    name: str

    def __repr__(self) -> str:
        return self.name


State = FrozenMap[str, Any]

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|-?\d+|\w+|<<|>>|\|->|:>|@@|\.\.|[\[\](){},])')
_ESCAPES = {"n": "\n", "t": "\t", "f": "\f", "r": "\r"}
_WORDS = {"TRUE": True, "FALSE": False}


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        position = 0
        text = text.strip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise UnreadableValue(f"no value at {text[position : position + 20]!r}")
            self.tokens.append(match[1])
            position = match.end()
        self.at = 0

    def take(self, *wanted: str) -> str:
        token = self.tokens[self.at] if self.at < len(self.tokens) else "the end"
        if wanted and token not in wanted:
            raise UnreadableValue(f"{' or '.join(wanted)} was expected, not {token}")
        self.at += 1
        return token

    def next_is(self, token: str) -> bool:
        found = self.at < len(self.tokens) and self.tokens[self.at] == token
        self.at += found
        return found

    def many(self, end: str) -> list[Any]:
        items: list[Any] = []
        while not self.next_is(end):
            if items:
                self.take(",")
            items.append(self.value())
        return items

    def pairs(self, arrow: str, separator: str, end: str) -> FrozenMap[Any, Any]:
        found: dict[Any, Any] = {}
        while True:
            key = self.take() if arrow == "|->" else self.value()
            self.take(arrow)
            found[key] = self.value()
            if self.take(separator, end) == end:
                return FrozenMap(found)

    def value(self) -> Any:
        token = self.take()
        if token == "<<":
            return tuple(self.many(">>"))
        if token == "{":
            return frozenset(self.many("}"))
        if token == "[":
            return self.pairs("|->", ",", "]")
        if token == "(":
            return self.pairs(":>", "@@", ")")
        if token[0] == '"':
            return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), token[1:-1])
        if token.lstrip("-").isdigit():
            return frozenset(range(int(token), int(self.take()) + 1)) if self.next_is("..") else int(token)
        if not re.fullmatch(r"\w+", token):
            raise UnreadableValue(f"a value was expected, not {token}")
        return _WORDS[token] if token in _WORDS else ModelValue(token)


@lru_cache(maxsize=1 << 16)  # a graph repeats few values in many states
def value(text: str) -> Any:
    """The value that TLC printed as `text`, or UnreadableValue."""
    reader = _Reader(text)
    found = reader.value()
    if reader.at < len(reader.tokens):
        raise UnreadableValue(f"nothing was expected after a value, not {reader.take()}")
    return found


def state(text: str) -> State:
    """The variables of one printed state: `name = value` after each `/\\ `, which a single variable lacks."""
    found: dict[str, Any] = {}
    for part in ("\n" + text.strip()).replace("\n/\\ ", "\0").lstrip("\n\0").split("\0"):
        name, equals, printed = part.partition(" = ")
        if not equals:
            raise UnreadableValue(f"no variable at {part[:20]!r}")
        found[name.strip()] = value(printed)
    return FrozenMap(found)


def printed(item: Any) -> str:
    """A value in TLA+ again, with sets and maps in a fixed order."""
    if isinstance(item, bool):
        return str(item).upper()
    if isinstance(item, str):
        return '"' + item.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(item, tuple):
        return f"<<{', '.join(map(printed, item))}>>"
    if isinstance(item, frozenset):
        return f"{{{', '.join(sorted(map(printed, item)))}}}"
    if isinstance(item, Mapping):
        if not item:
            return "<<>>"
        if all(isinstance(key, str) and key.isidentifier() for key in item):
            return f"[{', '.join(f'{key} |-> {printed(item[key])}' for key in sorted(item))}]"
        return f"({' @@ '.join(sorted(f'{printed(key)} :> {printed(each)}' for key, each in item.items()))})"
    return str(item)
