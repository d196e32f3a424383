"""Say in one line what does not fit a schema, where it stands, and what would fit.

Each keyword of a schema that can fail has a row in ``_MESSAGES``, which turns the failure into words. The
title of a shared definition, such as ``a status``, is used as the name of what was wanted.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Place = tuple[str | int, ...]

_SHOWN_CHARACTERS = 60
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


@dataclass(frozen=True, order=True)
class Problem:
    """One misfit: its rank in the document, its path, and what is wrong."""

    rank: tuple[int, ...]
    path: Place = field(compare=False)
    text: str

    def __str__(self) -> str:
        """``path: text``."""
        return f"{path_text(self.path)}: {self.text}"


@dataclass(frozen=True)
class Failure:
    """What a validator found: the keyword that failed, its demand, the value, and the schema around it."""

    keyword: str
    demand: Any
    value: Any
    schema: Mapping[str, Any]
    message: str

    def name(self, fallback: str) -> str:
        """What was wanted, by the title of a shared definition; the title of a whole schema is no name."""
        title = str(self.schema.get("title", ""))
        return title if title[:1].islower() else fallback


def message_of(failure: Failure) -> str:
    """The words for one failure."""
    describe = _MESSAGES.get(failure.keyword)
    return describe(failure) if describe else failure.message


def path_text(path: Sequence[str | int]) -> str:
    """A path as ``schedule[3].expect.status``; the root is called ``document``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _IDENTIFIER.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(part)}]"
    return text or "document"


def rank_of(path: Sequence[str | int], document: Any) -> tuple[int, ...]:
    """Where a path lies in a document: the position of each of its parts, for sorting."""
    rank: list[int] = []
    for part in path:
        if isinstance(document, dict) and part in document:
            rank.append(list(document).index(part))
        elif isinstance(document, list) and isinstance(part, int) and part < len(document):
            rank.append(part)
        else:
            break
        document = document[part]
    return tuple(rank)


def shown(value: object) -> str:
    """A value as short JSON, for a message."""
    text = json.dumps(value, ensure_ascii=True, default=repr)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."


def listed(words: Sequence[str]) -> str:
    """Words as ``a, b, c``."""
    return ", ".join(words)


def quoted(words: Sequence[str]) -> str:
    """Words as ``'a', 'b', 'c'``."""
    return ", ".join(repr(word) for word in words)


def suggestion(word: object, known: Sequence[str]) -> str:
    """`` (did you mean X?)`` where one of the known words is near, else nothing."""
    near = difflib.get_close_matches(word, known, n=1) if isinstance(word, str) else []
    return f" (did you mean {near[0]}?)" if near else ""


def _type(failure: Failure) -> str:
    wanted = failure.name(_TYPES.get(str(failure.demand), "of another type"))
    return f"must be {wanted}, not {shown(failure.value)}"


def _required(failure: Failure) -> str:
    return f"lacks {quoted([key for key in failure.demand if key not in failure.value])}"


def _additional(failure: Failure) -> str:
    known = list(failure.schema.get("properties", ()))
    unknown = next(key for key in failure.value if key not in known)
    near = suggestion(unknown, [key for key in known if key not in failure.value])
    return f"unknown key {unknown!r}{near}; the keys here are {listed(known)}"


def _dependent(failure: Failure) -> str:
    for key, needed in failure.demand.items():
        missing = [other for other in needed if other not in failure.value]
        if key in failure.value and missing:
            return f"has {key!r} and so needs {quoted(missing)}"
    return failure.message


def _enum(failure: Failure) -> str:
    words = [word if isinstance(word, str) else shown(word) for word in failure.demand]
    return f"must be one of {listed(words)}, not {shown(failure.value)}{suggestion(failure.value, words)}"


def _bound(least: bool, one: str, many: str) -> Callable[[Failure], str]:
    def describe(failure: Failure) -> str:
        what = one if failure.demand == 1 else many
        which = "least" if least else "most"
        return f"must have at {which} {failure.demand} {what}, and has {len(failure.value)}"

    return describe


def _any_of(failure: Failure) -> str:
    types = [_TYPES[branch["type"]] for branch in failure.demand if branch.get("type") in _TYPES]
    return f"must be {failure.name(' or '.join(types) or 'something else')}, not {shown(failure.value)}"


def _pattern(failure: Failure) -> str:
    return f"must be {failure.name(f'a match of {failure.demand}')}, not {shown(failure.value)}"


def _wanted(phrase: str) -> Callable[[Failure], str]:
    return lambda failure: f"must be {phrase}{shown(failure.demand)}, not {shown(failure.value)}"


_MESSAGES: Mapping[str, Callable[[Failure], str]] = {
    "additionalProperties": _additional,
    "anyOf": _any_of,
    "const": _wanted(""),
    "dependentRequired": _dependent,
    "enum": _enum,
    "format": lambda failure: "has a lone surrogate; a string has Unicode scalar values only",
    "maxItems": _bound(False, "entry", "entries"),
    "maxLength": _bound(False, "character", "characters"),
    "maxProperties": _bound(False, "key", "keys"),
    "maximum": _wanted("at most "),
    "minItems": _bound(True, "entry", "entries"),
    "minLength": _bound(True, "character", "characters"),
    "minProperties": _bound(True, "key", "keys"),
    "minimum": _wanted("at least "),
    "pattern": _pattern,
    "required": _required,
    "type": _type,
    "uniqueItems": lambda failure: "has an entry twice",
}
