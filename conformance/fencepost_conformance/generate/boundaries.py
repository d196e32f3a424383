"""Values at the edges: documents, names, types, ids, arguments and policies that are just right, or just not.

They are VALUEs and operations of the scenario format. A step in these tables is called NAME where it is to
have a name of its own. An argument that the Form leaves open is admitted here like any other: it is the
judge who knows.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from fencepost_spec.limits import FORM

Operation = Mapping[str, Any]

NAME = "NAME"
_COMPOSED, _DECOMPOSED = "\u00e9", "e\u0301"
_ASTRAL = "\U0001f600"
_DEEP = 70  # levels of a document: more than a careless bound, less than what costs time


def _nested(levels: int) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for _ in range(levels):
        document = {"d": document}
    return document


# Documents (DOC)

FIT: tuple[Any, ...] = (
    {"z": {"$oddity": "negativeZero"}},
    {"__proto__": {"a": 1}, "then": "x", "constructor": 1, "toJSON": "x"},
    {"i": 4294967297, "f": 1e21, "g": 0.1, "h": -5e-324},
    {_DECOMPOSED: _DECOMPOSED, "a": _ASTRAL, "empty": ""},
    {"s": {"$oddity": "sharedObject"}, "p": {"$oddity": "nullPrototype"}},
    {"list": [None, True, [], {}]},
    _nested(_DEEP),
)

FIT_ODDITIES = ("negativeZero", "ownProto", "sharedObject", "nullPrototype", "properties1024")
UNFIT = (
    *("nestedUndefined", "arrayRoot", "nan", "properties1025", "nullRoot", "stringRoot", "infinity", "hole"),
    *("accessor", "accessorThatThrows", "toJSONFunction", "symbolKey", "symbolValue", "function", "bigint"),
    *("date", "map", "classInstance", "cycle", "arrayExtraProperty"),
    *("loneSurrogateValue", "loneSurrogateKey"),
)
"""Kinds of oddity that are no documents as a result, an output, a payload or params."""

# Names and types of events: those that are nearly the same, and those of a length that just fits

TWINS: tuple[tuple[str, str], ...] = ((_COMPOSED, _DECOMPOSED), ("x", "X"), ("x", "x "))
LANGUAGE = ("constructor", "__proto__", "toString")
ODD_TYPES: tuple[Any, ...] = (
    *("GO", "go ", "", _COMPOSED, _DECOMPOSED),
    *({"$repeat": ["x", FORM.type_scalars]}, {"$repeat": ["x", FORM.type_scalars + 1]}),
    *({"$repeat": [_ASTRAL, FORM.type_scalars]}, {"$string": [0xD800]}),
)
AWAITED_TYPES = (_COMPOSED, "x" * FORM.type_scalars)

IDS: tuple[tuple[Any, Any], ...] = (
    *((_COMPOSED, _DECOMPOSED), ("k", "K"), ("then", "constructor")),
    *(({"$repeat": ["x", count]},) * 2 for count in (FORM.id_scalars, FORM.id_scalars + 1)),
    *(({"$repeat": [_ASTRAL, count]},) * 2 for count in (FORM.id_scalars, FORM.id_scalars + 1)),
    *(("", ""), ({"$string": [0xDC00]},) * 2, (5, "5")),
)
"""An id to create under, and one to look up then, that is the same or only nearly."""


def twins_of(type: str) -> tuple[str, ...]:
    """What a type of event is nearly."""
    found = (type.upper(), f"{type} ", unicodedata.normalize("NFD", type))
    return tuple(each for each in found if each != type)


def padded(name: str, filler: str = "x") -> str:
    """The name, as long as a name may be."""
    return name + filler * (FORM.name_scalars - len(name))


PADDING = ("x", _ASTRAL)

# Arguments of steps (STP-2, SLP-1, WFE-1, DO-1, DO-2)

_VALUE: Mapping[str, Any] = {"value": {}}
_NO_SECONDS: tuple[Any, ...] = (-1, 0.5, "5", True, None, 1e300)
_BAD_NAMES: tuple[Any, ...] = (
    "",
    {"$repeat": ["x", FORM.name_scalars + 1]},
    {"$repeat": [_ASTRAL, FORM.name_scalars + 1]},
    {"$string": [0xD800]},
    5,
    None,
)

REFUSED: tuple[Operation, ...] = (
    *({"do": name, "effect": _VALUE} for name in _BAD_NAMES),
    {"sleep": _BAD_NAMES[1], "seconds": 0},
    {"wait": "", "type": "go", "timeoutSeconds": 1},
    {"do": NAME},
    {"do": NAME, "effect": 5},
    *({"sleep": NAME, "seconds": each} for each in (*_NO_SECONDS, FORM.sleep_seconds + 1)),
    {"sleep": NAME},
    *(
        {"wait": NAME, "type": "go", "timeoutSeconds": each}
        for each in (*_NO_SECONDS, FORM.wait_seconds_minimum - 1, FORM.wait_seconds_maximum + 1)
    ),
    {"wait": NAME, "type": "go"},
    {"wait": NAME, "timeoutSeconds": 1},
    *(
        {"wait": NAME, "type": each, "timeoutSeconds": 1}
        for each in ("", {"$repeat": ["x", FORM.type_scalars + 1]}, 5)
    ),
)

_BAD_POLICIES: tuple[Mapping[str, Any], ...] = (
    {},
    {"initialDelaySeconds": 1},
    *({"maxAttempts": each} for each in (0, FORM.attempts_maximum + 1, 1.5, "2")),
    *(
        {"maxAttempts": 2, key: each}
        for key in ("initialDelaySeconds", "maxDelaySeconds")
        for each in (-1, FORM.delay_seconds_maximum + 1, 1.5)
    ),
    {"maxAttempts": 2, "backoff": "linear"},
    {"maxAttempts": 2, "jitter": True},
)
REFUSED += tuple({"do": NAME, "effect": _VALUE, "retry": each} for each in _BAD_POLICIES)

FITTING: tuple[Operation, ...] = (
    {"sleep": NAME, "seconds": FORM.sleep_seconds},
    {"wait": NAME, "type": "go", "timeoutSeconds": FORM.wait_seconds_maximum},
    {"wait": NAME, "type": "go", "timeoutSeconds": FORM.wait_seconds_minimum},
    {"wait": NAME, "type": "x" * FORM.type_scalars, "timeoutSeconds": 5},
    {"do": NAME, "effect": _VALUE, "retry": {"maxAttempts": FORM.attempts_maximum}},
    {
        "do": NAME,
        "effect": {"attempts": [{"throw": "again"}, _VALUE]},
        "retry": {"maxAttempts": 2, "initialDelaySeconds": FORM.delay_seconds_maximum},
    },
)
"""Steps whose arguments just fit."""

# Retry policies (DO-2, DO-3)

POLICIES: tuple[Mapping[str, Any], ...] = (
    {"maxAttempts": 2, "initialDelaySeconds": 1},
    {"maxAttempts": 2},
    {"maxAttempts": 3, "initialDelaySeconds": 10},
    {"maxAttempts": 3, "initialDelaySeconds": 10, "backoff": "exponential"},
    {"maxAttempts": 4, "initialDelaySeconds": 10, "backoff": "exponential", "maxDelaySeconds": 15},
    {"maxAttempts": 3, "initialDelaySeconds": FORM.delay_seconds_maximum, "backoff": "exponential"},
    {"maxAttempts": 3, "initialDelaySeconds": 60, "maxDelaySeconds": 5},
    {"maxAttempts": FORM.attempts_maximum, "initialDelaySeconds": 7200},
    {"maxAttempts": 1},
)
