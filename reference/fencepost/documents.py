"""Documents: the only data that crosses between a workflow, its callers and its history.

A document is a JSON object under the conditions of chapter DOC. Inside the reference it lives as its canonical bytes
(RFC 8785), never as a live object: so a replay sees what the first run saw, and nobody's later mutation reaches the
record (DOC-9). `encode` makes those bytes out of a value, `decode` makes a fresh value out of those bytes.

Three properties shape the code:

* Nothing of the caller's runs. A value is looked at by its exact type alone; a subclass, a mapping, a descriptor or a
  metaclass with opinions is refused before any of its methods could be called (DOC-4, DOC-6).
* Depth is no limit of the Form. Containers are walked with a stack of our own, in both directions; the `rfc8785`
  package, which recurses, writes the leaves: strings, keys and numbers.
* Size is counted while writing. Every value that is visited writes at least one byte, so a graph of shared objects
  that would unfold without end is refused after at most `document_bytes` steps (DOC-2, DOC-5).

The Python surface takes `dict` with `str` keys, `list`, `str`, `int`, `float`, `bool` and `None`. An `int` that no
double holds exactly is refused, since a Host whose numbers are doubles could not have meant it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from json.decoder import scanstring
from typing import Any, NoReturn

import rfc8785
from fencepost_spec.limits import FORM, Limits

__all__ = ["DocumentError", "DocumentTooLarge", "InvalidDocument", "decode", "encode", "event_bytes", "scalars"]

_SAFE = 2**53  # below this magnitude every integer is a double
_SHORT = 64  # scalars; longer strings are not worth remembering
_EDGE = 8  # path labels shown at either end of a deep path
_SHOWN = 40  # scalars of a key shown in a path


class DocumentError(ValueError):
    """A value that is no document: `path` says where, `reason` says why, in one line."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class InvalidDocument(DocumentError):
    """The value breaks a condition of DOC-1, DOC-3 or DOC-4."""


class DocumentTooLarge(DocumentError):
    """The canonical form has more bytes than DOC-2 admits."""


def encode(value: Any, limits: Limits = FORM, *, bound_nested: bool = True) -> bytes:
    """The canonical UTF-8 of a root document; raises InvalidDocument or DocumentTooLarge, whichever is met first.

    `bound_nested` holds nested objects to the bound on properties too (DOC-13).
    """
    if type(value) is not dict:
        raise InvalidDocument("$", f"the root is {_kind(value)}; give an object (a dict)")  # DOC-1
    return _write(value, limits, bound_nested)


def decode(data: bytes) -> dict[str, Any]:
    """A fresh value of a document's canonical bytes; raises InvalidDocument for bytes that are no JSON object."""
    value = _read(data)
    if type(value) is not dict:
        raise InvalidDocument("$", f"the root is {_kind(value)}; give an object")  # DOC-1
    return value


def event_bytes(type: str, payload: bytes | None) -> int:
    """Bytes of the canonical `{type, payload?}` that an inbox counts for an event (EVT-3)."""
    without = len(b'{"type":}') + len(rfc8785.dumps(type))
    return without if payload is None else without + len(b'"payload":,') + len(payload)


def scalars(text: str) -> int | None:
    """Number of Unicode scalar values of a text; None when it holds a lone surrogate."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return None
    return len(text)


# Writing ---------------------------------------------------------------------------------------------------------


class _Frame:
    """An open container: what is left of its members, and the label of the one being written."""

    __slots__ = ("close", "container", "keyed", "label", "members")

    def __init__(self, container: Any, members: Iterator[tuple[Any, Any]], keyed: bool) -> None:
        self.container = container
        self.members = members
        self.keyed = keyed
        self.close = b"}" if keyed else b"]"
        self.label: Any = None


def _write(root: dict[Any, Any], limits: Limits, bound_nested: bool) -> bytes:
    """Walk the containers with a stack, write each leaf, and stop at the first byte too many."""
    maximum = limits.document_bytes
    stack: list[_Frame] = []
    active: set[int] = set()  # containers on the path from the root: meeting one again is a cycle
    parts: list[bytes] = []
    size = 0
    bounded: int | None = limits.document_root_properties

    def refuse(error: type[DocumentError], reason: str) -> NoReturn:
        raise error(_path(frame.label for frame in stack), reason)

    def open_container(container: Any) -> _Frame:
        """Push a container after the checks that need no look at its members."""
        if id(container) in active:
            refuse(InvalidDocument, "a cycle; a document is a tree")  # DOC-4
        keyed = type(container) is dict
        if keyed and bounded is not None and len(container) > bounded:  # DOC-1, DOC-13
            refuse(InvalidDocument, f"{len(container)} properties; an object has at most {bounded}")
        if size + len(container) * (5 if keyed else 2) > maximum + 1:  # `"":0,` and `0,` are the least; DOC-2
            refuse(DocumentTooLarge, f"more than {maximum} bytes; make the document smaller")
        members = _sorted_members(container, maximum, refuse) if keyed else enumerate(container)
        frame = _Frame(container, members, keyed)
        active.add(id(container))
        stack.append(frame)
        parts.append(b"{" if keyed else b"[")
        return frame

    frame = open_container(root)
    size = 1
    bounded = bounded if bound_nested else None
    while True:
        for label, child in frame.members:
            frame.label = label
            if frame.keyed:
                member = _member(label) if len(label) <= _SHORT else _member.__wrapped__(label)
                parts.append(member)
                size += len(member)
            kind = type(child)
            if kind is str:
                if len(child) <= _SHORT:
                    leaf = _short_string(child)
                elif size + len(child) > maximum:  # a scalar takes at least a byte
                    leaf = b""
                    size = maximum
                else:
                    leaf = _string(child)
                if leaf is None:
                    refuse(InvalidDocument, "a string with a lone surrogate; use Unicode scalar values")  # DOC-3
            elif kind is dict or kind is list:
                frame = open_container(child)
                size += 1
                break
            else:
                leaf = b""
            parts.append(leaf)
            parts.append(b",")
            size += len(leaf) + 1
            if size > maximum + 1:
                refuse(DocumentTooLarge, "")
    return b"".join(parts)
