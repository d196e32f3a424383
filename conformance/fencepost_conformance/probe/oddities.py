"""Values that are no documents, or only just: the nearest that Python has to what JavaScript can put there.

| KIND | stand-in |
|---|---|
| accessor, accessorThatThrows | an object of a class with a property, which counts or refuses its use |
| toJSONFunction | a dict whose `toJSON` is a function |
| symbolKey, symbolValue | a dict with a key that is no string; a bare `object()` |
| function | a lambda |
| bigint | an int that no double holds |
| nan, infinity | the floats |
| date | a `datetime` |
| map | a set: a collection that is neither dict nor list |
| classInstance | an object of a class |
| cycle | a dict that holds itself |
| hole, nestedUndefined | UNDEFINED inside a list, inside a dict |
| arrayExtraProperty | a list of a subclass, with an attribute |
| nullPrototype | a dict like any other: Python has no second kind |
| arrayRoot, nullRoot, stringRoot | a list, NULL (a root None would mean "no document"), a str |

The others are what their names say.
"""

import datetime
from collections.abc import Callable
from typing import Any


class Undefined:
    """JavaScript's undefined, where Python's None is taken for null."""

    def __repr__(self) -> str:
        return "undefined"

    def __bool__(self) -> bool:
        return False

    def __deepcopy__(self, memo: Any) -> "Undefined":
        return self


class Null:
    """JavaScript's null at the root of a document, where Python's None means "no document"."""

    def __repr__(self) -> str:
        return "null"

    def __bool__(self) -> bool:
        return False


UNDEFINED = Undefined()
NULL = Null()

_ROOT_PROPERTIES = 1024  # DOC-1; the kinds are named after it


class _Accessor:
    @property
    def a(self) -> int:
        return 1


class _ThrowingAccessor:
    @property
    def a(self) -> int:
        raise RuntimeError("a getter ran while a document was being written (DOC-6)")


class _Plain:
    def __init__(self) -> None:
        self.a = 1


class _Array(list[Any]):
    pass


def _cycle() -> Any:
    outer: dict[str, Any] = {"a": 1}
    outer["self"] = outer
    return outer


def _shared() -> Any:
    inner = {"a": 1}
    return {"first": inner, "second": inner}


def _array_with_property() -> Any:
    array = _Array([1])
    array.extra = 1  # type: ignore[attr-defined]
    return array


def _properties(count: int) -> Callable[[], Any]:
    return lambda: {f"p{index}": 0 for index in range(count)}


# KIND -> a fresh value
ODDITIES: dict[str, Callable[[], Any]] = {
    "accessor": _Accessor,
    "accessorThatThrows": _ThrowingAccessor,
    "toJSONFunction": lambda: {"toJSON": dict},
    "symbolKey": lambda: {object(): 1},
    "symbolValue": object,
    "function": lambda: lambda: None,
    "bigint": lambda: 2**64 + 1,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "date": lambda: datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC),
    "map": lambda: {"a"},
    "classInstance": _Plain,
    "cycle": _cycle,
    "sharedObject": _shared,
    "hole": lambda: [1, UNDEFINED, 3],
    "arrayExtraProperty": _array_with_property,
    "nestedUndefined": lambda: {"a": UNDEFINED},
    "nullPrototype": lambda: {"a": 1},
    "ownProto": lambda: {"__proto__": {"a": 1}},
    "negativeZero": lambda: -0.0,
    "arrayRoot": lambda: [1],
    "nullRoot": lambda: NULL,
    "stringRoot": lambda: "text",
    "properties1024": _properties(_ROOT_PROPERTIES),
    "properties1025": _properties(_ROOT_PROPERTIES + 1),
    "loneSurrogateValue": lambda: "\ud800",
    "loneSurrogateKey": lambda: {"\ud800": 1},
}

ROOTS = frozenset({"arrayRoot", "nullRoot", "stringRoot"})
_WHOLE = ROOTS | {"properties1024", "properties1025"}  # say something about the root itself


def at_root(kind: str) -> Any:
    """An oddity as a whole document: itself where it speaks of the root, else under the key ``oddity``."""
    made = ODDITIES[kind]()
    return made if kind in _WHOLE else {"oddity": made}
