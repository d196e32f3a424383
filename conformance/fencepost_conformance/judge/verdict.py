"""What a judge answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .blame import Witnesses


@dataclass(frozen=True)
class Admitted:
    """Some behaviour of the machine explains everything that was observed; `notes` say what was not looked
    at."""

    notes: tuple[str, ...] = ()
    admitted: bool = True


@dataclass(frozen=True)
class NotAdmitted:
    """The first observation that no behaviour explains.

    `possible` is what the states that were possible just before would have shown, `states` are these states,
    for a reader, and `clauses` are those of the moves that would have been needed, the likeliest first;
    `others` had a part in it as well, mostly the part that they have in every life.
    """

    index: int
    word: str
    seen: Any
    possible: tuple[Any, ...]
    states: tuple[str, ...]
    clauses: tuple[str, ...]
    because: str = ""
    admitted: bool = False
    others: tuple[str, ...] = ()

    def __str__(self) -> str:
        possible = " or ".join(map(str, self.possible)) or "nothing"
        lines = [f"schedule[{self.index}] {self.word}: saw {self.seen}, possible was {possible}"]
        lines += [self.because] if self.because else []
        lines += [f"  possible state: {each}" for each in self.states]
        return "\n".join([*lines, f"  clauses: {', '.join(self.clauses)}"])


Verdict = Admitted | NotAdmitted


class Refused(Exception):
    """No state explains what was seen."""

    def __init__(
        self,
        seen: Any,
        possible: Sequence[Any],
        states: Sequence[str],
        witnesses: Witnesses,
        because: str = "",
    ) -> None:
        super().__init__(str(seen))
        self.seen, self.possible, self.states = seen, tuple(possible), tuple(states)
        self.witnesses, self.because = witnesses, because


class Unjudged(Exception):
    """From here on the judge does not know what may be, and says so."""
