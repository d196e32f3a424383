"""JSON values at the edge of the machine: which are sound, when two are the same, how instants are written.

Bytes are the business of the HTTP face. What can still go wrong once they are decoded is checked here: lone
surrogates, non-finite numbers, things that are no JSON at all, and nesting that no code of ours should have
to follow. Two values are the same request when their canonical texts are equal: key order does not matter,
and neither does whether one is written `1` or `1.0`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
IDEMPOTENCY_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{15,127}")
DECIMAL = re.compile(r"0|[1-9][0-9]{0,15}")
HTTPS_URL = re.compile(r"""https://(?!:)[!"$-.0->A-[\]-~]+(/[!"$->@-~]*)?""")
LARGEST_INTEGER = 2**53 - 1

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SURROGATE = re.compile("[\ud800-\udfff]")


def unsound(value: Any, maximum_nesting: int) -> str | None:
    """Say why a value is no sound JSON value, or nothing; never recurses."""
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        if depth > maximum_nesting:
            return f"nest values at most {maximum_nesting} deep"
        if item is None or isinstance(item, bool | int):
            continue
        if isinstance(item, float):
            if not math.isfinite(item):
                return "use finite numbers only"
        elif isinstance(item, str):
            if _SURROGATE.search(item):
                return "remove the lone surrogate from the string"
        elif isinstance(item, list):
            stack.extend((member, depth + 1) for member in item)
        elif isinstance(item, dict):
            if not all(isinstance(key, str) for key in item):
                return "use strings as keys"
            stack.extend((key, depth) for key in item)
            stack.extend((member, depth + 1) for member in item.values())
        else:
            return f"send JSON values only, not {type(item).__name__}"
    return None


def _normal(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [_normal(member) for member in value]
    if isinstance(value, dict):
        return {key: _normal(member) for key, member in value.items()}
    return value


def canonical(value: Any) -> str:
    """One text for all writings of one JSON value (numbers by their mathematical value)."""
    return json.dumps(_normal(value), sort_keys=True, separators=(",", ":"))


def digest(*parts: Any) -> str:
    """A fingerprint of JSON values, equal where the values are the same."""
    return hashlib.sha256(canonical(list(parts)).encode("ascii")).hexdigest()


def timestamp(instant: int) -> str:
    """An instant in milliseconds since 1970 as RFC 3339 in UTC, ending in `Z`."""
    moment = _EPOCH + timedelta(milliseconds=instant)
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def url_problem(url: str) -> str | None:
    """Say why a string is no URL of a Form or an artifact, or nothing; it is never fetched here."""
    if not HTTPS_URL.fullmatch(url):
        return "give an absolute ASCII HTTPS URL without userinfo, query or fragment"
    return None


def identifier(value: Any) -> bool:
    """Whether a value can be a uid, an operation id, a Space or a name."""
    return isinstance(value, str) and IDENTIFIER.fullmatch(value) is not None


def as_text(value: Mapping[str, Any]) -> str:
    """A document as it is kept inside the immutable state: the writing that the caller chose."""
    return json.dumps(value, separators=(",", ":"))


def from_text(text: str) -> dict[str, Any]:
    """A fresh copy of a document that the state keeps."""
    document: dict[str, Any] = json.loads(text)
    return document
