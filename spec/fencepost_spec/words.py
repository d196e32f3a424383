"""The words that a Host answers with: statuses, failure reasons, error names and problem codes.

They are data in ``words.toml``; a word is listed once for each kind that it is of.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Literal, get_args

Kind = Literal["status", "failure-reason", "caller-error", "step-error", "management-code"]

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Word:
    """A word of one kind: what it tells, the clauses behind it, and its HTTP status if it has one."""

    name: str
    kind: Kind
    kind_meaning: str
    meaning: str
    clauses: tuple[str, ...]
    status: int | None = None


@cache
def load() -> Mapping[str, tuple[Word, ...]]:
    """Every word with its meanings, read once."""
    text = resources.files("fencepost_spec").joinpath("words.toml").read_text("utf-8")
    data = tomllib.loads(text)
    words: dict[str, tuple[Word, ...]] = {}
    for entry in data["word"]:
        kind = entry["kind"]
        word = Word(
            name=entry["name"],
            kind=kind,
            kind_meaning=data["kind"][kind],
            meaning=entry["meaning"],
            clauses=tuple(entry["clauses"]),
            status=entry.get("status"),
        )
        words[word.name] = (*words.get(word.name, ()), word)
    return MappingProxyType(words)


def of_kind(kind: Kind) -> tuple[str, ...]:
    """The words of one kind, in the order of the data."""
    return tuple(word.name for meanings in load().values() for word in meanings if word.kind == kind)
