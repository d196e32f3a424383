"""What a clause is: one statement about Hosts, with its strength and the sentences that it rests on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

Strength = Literal["required", "derived", "open", "exclusion", "reference"]

STRENGTHS: tuple[Strength, ...] = get_args(Strength)

_ID = re.compile(r"([A-Z]+)-(\d+)([a-z]?)")


@dataclass(frozen=True)
class Choice:
    """One admissible way of taking an open point."""

    name: str
    meaning: str


@dataclass(frozen=True)
class SourceSentence:
    """A sentence of a source document, by section and number; of its text only a short digest is known."""

    source: str
    section: str
    number: int
    digest: str

    @property
    def pointer(self) -> str:
        """How a clause names this sentence: ``source/section:number``."""
        return f"{self.source}/{self.section}:{self.number}"


@dataclass(frozen=True)
class Clause:
    """One statement of the catalogue.

    ``argument`` stands in derived clauses, ``choices`` and ``reference`` (the choice of our own Host) in open
    ones, and ``unobservable`` gives the reason where nothing of a clause can be seen from outside.
    """

    id: str
    chapter: str
    strength: Strength
    statement: str
    source: tuple[SourceSentence, ...]
    argument: str | None = None
    choices: tuple[Choice, ...] = ()
    reference: str | None = None
    unobservable: str | None = None

    @property
    def is_judged(self) -> bool:
        """Whether a Host gets a verdict on this clause: what is required or derived, and can be observed."""
        return self.strength in ("required", "derived") and self.unobservable is None

    def choice(self, name: str) -> Choice:
        """The choice of that name; ``KeyError`` with the admissible names if there is none."""
        for choice in self.choices:
            if choice.name == name:
                return choice
        names = ", ".join(choice.name for choice in self.choices) or "none"
        raise KeyError(f"{self.id} has no choice {name!r}; its choices: {names}")


def split_id(clause: str) -> tuple[str, int, str]:
    """The chapter, number and letter of a clause id such as ``STP-4a``; ``ValueError`` for anything else."""
    match = _ID.fullmatch(clause)
    if match is None:
        raise ValueError(f"{clause!r} is no clause id; an id looks like WFE-5 or STP-4a")
    chapter, number, letter = match.groups()
    return chapter, int(number), letter
