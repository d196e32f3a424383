"""Sentences that more than one renderer needs: why a clause has its verdict or standing."""

from __future__ import annotations

import json
from typing import Any

from ..verdict import ClauseRecord


def value(data: Any, limit: int | None = None) -> str:
    """A value on one line of ASCII, which hides no look-alike; cut after `limit` characters."""
    text = json.dumps(data, ensure_ascii=True, sort_keys=True, default=repr)
    if limit is not None and len(text) > limit:
        return f"{text[:limit]}... ({len(text)} characters)"
    return text


def plain(text: str) -> str:
    """Text of a Host or a file with control characters and lone surrogates escaped."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def why(record: ClauseRecord) -> str:
    """Why a clause is errored or unmeasured, or has no verdict; empty when the verdict needs no reason."""
    if record.standing == "unobservable":
        return f"not observable: {record.clause.unobservable}"
    if record.verdict is None:
        return f"{record.standing}: no verdict"
    if record.verdict == "errored":
        broken = next(check for check in record.checks if check.outcome == "errored")
        return f"{broken.scenario}: {first_line(broken.detail) or 'the check broke down'}"
    if record.verdict == "unmeasured":
        return _why_unmeasured(record)
    return ""


def _why_unmeasured(record: ClauseRecord) -> str:
    if record.closed_by:
        return f"needs {' and '.join(record.closed_by)}"
    stopped = [check for check in record.checks if check.outcome == "failed"]
    if stopped:
        at = stopped[0].differences[0].clause if stopped[0].differences else stopped[0].clauses[0]
        return f"{stopped[0].scenario} stopped at {at}"
    unmeasured = [check for check in record.checks if check.detail]
    return first_line(unmeasured[0].detail) if unmeasured else "no check of it ran"


def first_line(text: str) -> str:
    """The first line of a detail; the others are what an adapter logged."""
    return text.strip().partition("\n")[0]
