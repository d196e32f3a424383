"""Documents: the only data that crosses between a workflow, its callers and its history.

A document is a JSON object under the conditions of chapter DOC. Inside the reference it lives as its
canonical bytes (RFC 8785), never as a live object: so a replay sees what the first run saw, and nobody's
later mutation reaches the record (DOC-9). `encode` makes those bytes out of a value, `decode` makes a fresh
value out of those bytes.

Three properties shape the code:

* Nothing of the caller's runs. A value is judged by its exact type alone; a subclass, another mapping or a
  class whose metaclass has opinions is refused before any of its methods could be called (DOC-4, DOC-6).
* Depth is no limit of the Form. Containers are walked with a stack of our own, in both directions; the
  `rfc8785` package, which recurses, writes what lies in them: strings, keys and numbers.
* Size is counted while writing. Every value that is visited writes at least one byte, so a graph of shared
  objects that unfolds without end is refused after at most `document_bytes` values (DOC-2, DOC-5).

The Python surface takes `dict` with `str` keys, `list`, `str`, `int`, `float`, `bool` and `None`. An `int`
that no double holds exactly is refused, since a Host whose numbers are doubles could not have meant it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import rfc8785
from fencepost_spec.limits import FORM, Limits

from fencepost import json_text

__all__ = [
    "DocumentError",
    "DocumentTooLarge",
    "InvalidDocument",
    "decode",
    "encode",
    "event_bytes",
    "scalars",
]

_SAFE = json_text.SAFE
_REMEMBERED = 64  # scalars: texts up to this length recur, and their canonical form is worth keeping


class DocumentError(ValueError):
    """A value that is no document: `path` says where, `reason` says why and what to do, in one line."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class InvalidDocument(DocumentError):
    """The value breaks a condition of DOC-1, DOC-3 or DOC-4."""


class DocumentTooLarge(DocumentError):
    """The canonical form would have more bytes than DOC-2 admits."""


def encode(value: Any, limits: Limits = FORM, *, bound_nested: bool = True) -> bytes:
    """The canonical UTF-8 of a root document; raises InvalidDocument or DocumentTooLarge, the first met.

    `bound_nested` holds nested objects to the bound on properties too (DOC-13).
    """
    if type(value) is not dict:
        raise InvalidDocument("$", f"{_kind(value)} is no root; give an object (a dict)")  # DOC-1
    return _Writer(limits, bound_nested).write(value)


def decode(data: bytes) -> dict[str, Any]:
    """A fresh value of a document's canonical bytes; raises InvalidDocument for what is no JSON object."""
    try:
        value = json_text.read(data)
    except ValueError as error:
        raise InvalidDocument("$", f"{_one_line(str(error))}; give a JSON object in UTF-8") from None
    if type(value) is not dict:
        raise InvalidDocument("$", f"{_kind(value)} is no root; give an object")  # DOC-1
    return value


def event_bytes(type: str, payload: bytes | None) -> int:
    """Bytes of the canonical `{type, payload?}` that an inbox counts for a stored event (EVT-3)."""
    bare = len(b'{"type":}') + len(rfc8785.dumps(type))
    return bare if payload is None else bare + len(b'"payload":,') + len(payload)


def scalars(text: str) -> int | None:
    """Number of Unicode scalar values in a text; None when it holds a lone surrogate."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return None
    return len(text)


# Writing


class _Frame:
    """An open container: its members still to be written, and the label of the one in hand."""

    __slots__ = ("container", "keyed", "label", "members")

    def __init__(self, container: Any, keyed: bool, members: Iterator[tuple[Any, Any]]) -> None:
        self.container = container
        self.keyed = keyed
        self.members = members
        self.label: Any = None


class _Writer:
    """One document being written; `room` is the number of bytes that may still be added."""

    def __init__(self, limits: Limits, bound_nested: bool) -> None:
        self.maximum = limits.document_bytes
        self.properties = limits.document_root_properties
        self.bound_nested = bound_nested
        self.parts: list[bytes] = []
        self.stack: list[_Frame] = []
        self.active: set[int] = set()  # identities of the open containers: meeting one again is a cycle

    def write(self, root: dict[Any, Any]) -> bytes:
        """The canonical bytes; numbers are checked before the package sees them: it can refuse texts only."""
        try:
            self.walk(root)
        except rfc8785.CanonicalizationError:
            raise self.invalid("a lone surrogate; give Unicode scalar values only") from None  # DOC-3
        return b"".join(self.parts)

    def walk(self, root: dict[Any, Any]) -> None:
        """Write each member and a comma; closing a container turns its last comma into the bracket."""
        parts, stack = self.parts, self.stack
        frame, room = self.open(root, self.maximum)
        while True:
            for label, child in frame.members:
                frame.label = label
                room -= 1  # the comma or bracket behind this member
                if frame.keyed:
                    member = _member(label) if len(label) <= _REMEMBERED else self.text(label, room) + b":"
                    parts.append(member)
                    room -= len(member)
                kind = type(child)
                if kind is str and len(child) <= _REMEMBERED:
                    leaf = _text(child)
                elif kind is dict or (kind is list and not _numbers(child, room)):
                    frame, room = self.open(child, room)
                    break
                else:
                    leaf = self.leaf(child, kind, room)
                parts.append(leaf)
                parts.append(b",")
                room -= len(leaf)
                if room < 0:
                    raise self.too_large()  # DOC-2
            else:
                bracket = b"}" if frame.keyed else b"]"
                if frame.container:
                    parts[-1] = bracket
                else:
                    parts.append(bracket)
                stack.pop()
                self.active.remove(id(frame.container))
                if not stack:
                    return
                parts.append(b",")
                frame = stack[-1]

    def open(self, container: Any, room: int) -> tuple[_Frame, int]:
        """Begin a container after the checks that look at none of its values; gives it and the room left."""
        if id(container) in self.active:
            raise self.invalid("a cycle; give a tree (sharing without a cycle is fine)")  # DOC-4
        keyed = type(container) is dict
        count = len(container)
        if keyed and count > self.properties and (self.bound_nested or not self.stack):  # DOC-1, DOC-13
            raise self.invalid(f"{count} properties; an object has at most {self.properties}")
        room -= 1 if count else 2
        if room < count * (len('"":0,') if keyed else len("0,")):  # the least that the members can take
            raise self.too_large()  # DOC-2
        frame = _Frame(container, keyed, self.members(container) if keyed else enumerate(container))
        self.stack.append(frame)
        self.active.add(id(container))
        self.parts.append(b"{" if keyed else b"[")
        return frame, room

    def members(self, container: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
        """The members of an object in the order of their keys' UTF-16 code units (RFC 8785)."""
        for key in container:
            if type(key) is not str:
                raise self.invalid(f"{_kind(key)} is no key; keys are strings (str)")  # DOC-4
        keys = sorted(container, key=None if "".join(container).isascii() else _code_units)
        return zip(keys, map(container.__getitem__, keys), strict=True)

    def leaf(self, value: Any, kind: type, room: int) -> bytes:
        """The canonical form of a value that opens no container, or a refusal."""
        if kind is str:
            return self.text(value, room)
        if kind is bool:
            return b"true" if value else b"false"
        if value is None:
            return b"null"
        if kind is int:
            return rfc8785.dumps(value if -_SAFE < value < _SAFE else self.double(value))
        if kind is float:
            if not math.isfinite(value):
                raise self.invalid("a number that is not finite; give a finite one")  # DOC-4
            return rfc8785.dumps(value)
        if kind is list:  # of plain numbers, which the package writes in one go
            return rfc8785.dumps(value)
        reason = f"{_kind(value)} is not JSON; give a dict, list, str, int, float, bool or None"
        raise self.invalid(reason)  # DOC-4

    def text(self, value: str, room: int) -> bytes:
        """A string of any length, unless it cannot fit."""
        if len(value) > room:  # a scalar takes at least a byte
            raise self.too_large()  # DOC-2
        return rfc8785.dumps(value)

    def double(self, value: int) -> float:
        """The double that equals a large integer, or a refusal."""
        try:
            double = float(value)
        except OverflowError:
            double = 0.0
        if double != value:
            raise self.invalid("an integer that no double holds; give it as a string or as a float")
        return double

    def invalid(self, reason: str) -> InvalidDocument:
        """The refusal of what the walk stands at."""
        return InvalidDocument(_path(self.stack), reason)

    def too_large(self) -> DocumentTooLarge:
        """The refusal of one byte too many."""
        reason = f"more than {self.maximum} bytes in canonical form; give less"
        return DocumentTooLarge(_path(self.stack), reason)


def _numbers(values: list[Any], room: int) -> bool:
    """Whether a list, of a length that could fit, holds nothing but numbers that need no second look."""
    if len(values) * len("0,") > room:
        return False
    for value in values:
        kind = type(value)
        if not ((kind is int and -_SAFE < value < _SAFE) or (kind is float and math.isfinite(value))):
            return False
    return True


@lru_cache(maxsize=4096)
def _text(value: str) -> bytes:
    return rfc8785.dumps(value)


@lru_cache(maxsize=4096)
def _member(key: str) -> bytes:
    return rfc8785.dumps(key) + b":"


def _code_units(key: str) -> bytes:
    """Sorts as RFC 8785 asks; a lone surrogate passes here and is refused when it is written."""
    return key.encode("utf-16-be", "surrogatepass")


# Saying where and what

_EDGE = 6  # labels shown at either end of a deep path
_SHOWN = 40  # scalars of a key shown in a path
_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_KINDS: tuple[tuple[type, str], ...] = (
    (type(None), "null"),
    (bool, "a boolean"),
    (int, "an integer"),
    (float, "a number"),
    (str, "a string"),
    (list, "an array"),
    (dict, "an object"),
)


def _path(stack: list[_Frame]) -> str:
    """Where the walk stands, as `$.a[3]`; the middle of a long path is left out."""
    labels = [frame.label for frame in stack]
    if len(labels) <= 2 * _EDGE:
        return "$" + "".join(map(_step, labels))
    left_out = len(labels) - 2 * _EDGE
    ends = "".join(map(_step, labels[:_EDGE])), "".join(map(_step, labels[-_EDGE:]))
    return f"${ends[0]} ({left_out} levels) {ends[1]}"


def _step(label: Any) -> str:
    if label is None:  # the container itself, none of its members
        return ""
    if type(label) is int:
        return f"[{label}]"
    if _PLAIN.fullmatch(label) and len(label) <= _SHOWN:
        return f".{label}"
    shown = label if len(label) <= _SHOWN else label[:_SHOWN] + "..."
    return f"[{json.dumps(shown)}]"


def _kind(value: Any) -> str:
    """What a value is, in words; asks nothing of the value nor of its class."""
    for kind, words in _KINDS:
        if type(value) is kind:
            return words
    name = type.__dict__["__name__"].__get__(type(value))
    return f"a value of class {_one_line(name)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_REMEMBERED]
