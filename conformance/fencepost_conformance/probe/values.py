"""VALUEs: JSON in which one-key objects with a ``$`` stand for what JSON cannot say, or for what is known
only later.

`build` makes live Python values out of a VALUE: fresh containers at each call, so that nothing that a
workflow mutates reaches the scenario. `document` does it for the root of a document, where JavaScript's
undefined and null, and the oddities that are roots, have a meaning of their own. `resolve` only fills in
the variables and leaves the rest as it is, for an adapter that builds the values at its own end.
"""

import copy
import re
from collections.abc import Callable, Mapping
from typing import Any

from .oddities import NULL, ODDITIES, UNDEFINED, at_root

__all__ = [
    "NULL",
    "UNDEFINED",
    "build",
    "described",
    "document",
    "error_name",
    "form_of",
    "interpolate",
    "is_true",
    "read",
    "resolve",
    "sized",
]

_EXACT = 2**53  # below it every integral double is that integer
_SIZED_KEY = "x"
_SIZED_FRAME = len('{"x":""}')


def form_of(value: Any) -> str | None:
    """The ``$`` word of a one-key object that stands for something else, or None."""
    if type(value) is dict and len(value) == 1:
        word = next(iter(value))
        if word in _FORMS:
            return str(word)
    return None


def build(value: Any, variables: Mapping[str, Any]) -> Any:
    """A live value; variables are handed out as they are, everything else is fresh."""
    kind = type(value)
    if kind is dict:
        if len(value) == 1:
            word, argument = next(iter(value.items()))
            if word in _FORMS:
                return _FORMS[word](argument, variables)
        return {key: build(child, variables) for key, child in value.items()}
    if kind is list:
        return [build(child, variables) for child in value]
    return _number(value) if kind is float else value


def document(value: Any, variables: Mapping[str, Any]) -> Any:
    """A live root: UNDEFINED stays, null becomes NULL, an oddity is put where a root can carry it."""
    if form_of(value) == "$oddity":
        return at_root(value["$oddity"])
    built = build(value, variables)
    return NULL if built is None else built


def resolve(value: Any, variables: Mapping[str, Any]) -> Any:
    """The same VALUE with each variable replaced by what it holds, where there is something."""
    if type(value) is list:
        return [resolve(child, variables) for child in value]
    if type(value) is not dict:
        return value
    word = form_of(value)
    if word == "$":
        held = read(value["$"], variables)
        return value if held is UNDEFINED else {"$literal": held} if isinstance(held, dict | list) else held
    if word == "$array":
        return {"$array": [resolve(value["$array"][0], variables), value["$array"][1]]}
    if word is not None:
        return value
    return {key: resolve(child, variables) for key, child in value.items()}


def read(path: str, variables: Mapping[str, Any]) -> Any:
    """What ``VAR`` or ``VAR.path`` holds; UNDEFINED where there is nothing."""
    name, *keys = path.split(".")
    held = variables.get(name, UNDEFINED)
    for key in keys:
        held = _member(held, key)
    return held


def is_true(value: Any) -> bool:
    """Truth as in JavaScript: an empty object and an empty array are true."""
    if isinstance(value, dict | list):
        return True
    return bool(value) and value == value  # NaN is false


def interpolate(text: str, variables: Mapping[str, Any]) -> str:
    """`text` with each ``${VAR}`` replaced by what the variable holds, as JavaScript writes it."""
    if "${" not in text:
        return text
    return _PLACE.sub(lambda match: _as_text(read(match[1], variables)), text)


def error_name(error: BaseException) -> str:
    """The `name` that the same error would have in JavaScript."""
    name = getattr(error, "name", None)
    if isinstance(name, str):
        return name
    return "TypeError" if isinstance(error, TypeError) else "Error"


def described(error: Any) -> Any:
    """The property descriptor of an error's own `name`, found out by trying; UNDEFINED where it has none."""
    name = getattr(error, "name", None)
    if not isinstance(name, str):
        return UNDEFINED
    try:
        error.name = name
    except (AttributeError, TypeError):
        writable = False
    else:
        writable = True
    enumerable = "name" in getattr(error, "__dict__", {})
    return {"value": name, "writable": writable, "enumerable": enumerable, "configurable": writable}


def sized(count: int) -> dict[str, Any]:
    """A document of exactly `count` canonical bytes; raises ValueError for a size that none has here."""
    if count == len("{}"):
        return {}
    if count < _SIZED_FRAME:
        raise ValueError(f"$size {count}: give 2, or {_SIZED_FRAME} or more")
    return {_SIZED_KEY: "x" * (count - _SIZED_FRAME)}


def _reported(error: Any) -> Any:
    if not isinstance(error, BaseException):
        return UNDEFINED
    return {"name": error_name(error), "message": str(error)}


def _params(_: Any, variables: Mapping[str, Any]) -> Any:
    params = variables.get("$params", UNDEFINED)
    if not isinstance(params, dict):
        return params
    return {key: value for key, value in params.items() if key != "program"}


def _from_code_units(units: list[int]) -> str:
    data = b"".join(unit.to_bytes(2, "little") for unit in units)
    return data.decode("utf-16-le", "surrogatepass")


def _array(argument: list[Any], variables: Mapping[str, Any]) -> list[Any]:
    value, count = argument
    return [build(value, variables) for _ in range(count)]


# word -> (argument, variables) -> live value
_FORMS: dict[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "$": lambda path, variables: read(path, variables),
    "$error": lambda name, variables: _reported(read(name, variables)),
    "$describe": lambda name, variables: described(read(name, variables)),
    "$isUndefined": lambda path, variables: read(path, variables) is UNDEFINED,
    "$params": _params,
    "$literal": lambda value, variables: copy.deepcopy(value),
    "$oddity": lambda kind, variables: ODDITIES[kind](),
    "$repeat": lambda argument, variables: argument[0] * argument[1],
    "$array": _array,
    "$size": lambda count, variables: sized(count),
    "$string": lambda units, variables: _from_code_units(units),
}

_PLACE = re.compile(r"\$\{([^}]*)\}")


def _number(value: float) -> int | float:
    """An integral double as the integer it is, except negative zero: JavaScript knows no difference."""
    if value.is_integer() and abs(value) < _EXACT and str(value) != "-0.0":
        return int(value)
    return value


def _member(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return value.get(key, UNDEFINED)
    if isinstance(value, list):
        if key == "length":
            return len(value)
        return value[int(key)] if key.isdecimal() and int(key) < len(value) else UNDEFINED
    if isinstance(value, str) and key == "length":
        return len(value.encode("utf-16-le", "surrogatepass")) // 2
    if isinstance(value, BaseException):
        known = {"name": error_name(value), "message": str(value), "cause": value.__cause__ or UNDEFINED}
        return known.get(key, UNDEFINED)
    return UNDEFINED


def _as_text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(_number(value) if isinstance(value, float) else value)
