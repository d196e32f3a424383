"""JSON text into Python values, exactly as doubles read it and at any depth.

The standard library reads fast, but it recurses and it makes an integer of any length out of digits.
Canonical text (RFC 8785) writes integers of up to 21 digits that are the shortest name of a double, not its
exact value. So a text with long runs of digits is read with a hook for integers, and one that nests too far
for the library is read again by a loop with a stack of its own.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

__all__ = ["SAFE", "read"]

SAFE = 2**53  # below this magnitude every integer is a double; from here on it takes a double to say which

_DIGITS = bytes(ord("0") if byte in b"0123456789" else ord(" ") for byte in range(256))
_LONG = b"0" * 16  # what a run of 16 digits becomes; every shorter one is below SAFE
_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = {"null": None, "true": True, "false": False}
_CLOSE = {"{": "}", "[": "]"}
_SHOWN = 40  # scalars of a key that is there twice


def read(data: bytes, *, unique: bool = False) -> Any:
    """The value of a JSON text in UTF-8; raises ValueError, with a line that says what is wrong.

    With `unique` an object that has a key twice is wrong; without it the last of them counts.
    """
    text = data.decode()
    decoder = _with_long_integers if _LONG in data.translate(_DIGITS) else _plain
    decoder = _unique if unique else decoder
    try:
        return decoder.decode(text)
    except RecursionError:
        return _read_deep(text, unique)


def _integer(digits: str) -> int | float:
    """The double that an integer literal names, as an int while both are the same."""
    value = float(digits)
    return int(digits) if -SAFE < value < SAFE else value


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object none of whose keys is there twice."""
    value: dict[str, Any] = {}
    for key, member in members:
        if key in value:
            raise _twice(key)
        value[key] = member
    return value


def _twice(key: str) -> ValueError:
    return ValueError(f"an object has the key {json.dumps(key[:_SHOWN])} twice")


_plain = json.JSONDecoder(parse_constant=_no_constant)
_with_long_integers = json.JSONDecoder(parse_constant=_no_constant, parse_int=_integer)
_unique = json.JSONDecoder(parse_constant=_no_constant, parse_int=_integer, object_pairs_hook=_object)


def _read_deep(text: str, unique: bool = False) -> Any:
    """The value of a JSON text, read without recursion."""
    stack: list[tuple[Any, str]] = []  # open containers, each with the key in hand (of an object)
    position = _space(text, 0)
    while True:
        value, position, bracket = _begin(text, position)
        if bracket and text[position : position + 1] != _CLOSE[bracket]:
            key = ""
            if bracket == "{":
                key, position = _key(text, position)
            stack.append((value, key))
            continue
        if bracket:
            position = _space(text, position + 1)
        # A value has ended: put it into the innermost container, and close as many of those as end here.
        while stack:
            container, key = stack[-1]
            keyed = type(container) is dict
            if keyed:
                if unique and key in container:
                    raise _twice(key)
                container[key] = value
            else:
                container.append(value)
            follower = text[position : position + 1]
            if follower not in (",", "}" if keyed else "]"):
                raise ValueError(f"expected a comma or a closing bracket at character {position}")
            position = _space(text, position + 1)
            if follower == ",":
                if keyed:
                    key, position = _key(text, position)
                    stack[-1] = (container, key)
                break
            value = container
            stack.pop()
        else:
            if position != len(text):
                raise ValueError(f"more text behind the value at character {position}")
            return value


def _begin(text: str, position: int) -> tuple[Any, int, str]:
    """The leaf, or the empty container and its bracket, and the position of what follows."""
    first = text[position : position + 1]
    if first == "{":
        return {}, _space(text, position + 1), first
    if first == "[":
        return [], _space(text, position + 1), first
    if first == '"':
        value, position = _string(text, position)
        return value, position, ""
    number = _NUMBER.match(text, position)
    if number:
        whole = number[1] is None and number[2] is None
        return _integer(number[0]) if whole else float(number[0]), _space(text, number.end()), ""
    for word, meaning in _WORDS.items():
        if text.startswith(word, position):
            return meaning, _space(text, position + len(word)), ""
    raise ValueError(f"expected a value at character {position}")


def _key(text: str, position: int) -> tuple[str, int]:
    """A key and the position of its value."""
    key, position = _string(text, position)
    if text[position : position + 1] != ":":
        raise ValueError(f"expected a colon at character {position}")
    return key, _space(text, position + 1)


def _string(text: str, position: int) -> tuple[Any, int]:
    """A string, which the library reads, and the position of what follows."""
    match = _STRING.match(text, position)
    if not match:
        raise ValueError(f"expected a string at character {position}")
    return _plain.decode(match[0]), _space(text, match.end())


def _space(text: str, position: int) -> int:
    """The position behind white space."""
    match = _SPACE.match(text, position)
    return match.end() if match else position
