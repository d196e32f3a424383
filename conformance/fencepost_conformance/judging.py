"""How the judge is asked: what was seen in a scenario goes in, a verdict comes out if no Host may show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .adapter import Handshake
from .observations import Observation
from .results import Difference
from .scenario import Scenario

REAL_CLOCK_TOLERANCE = 2000  # milliseconds; a Host's clock may be as coarse as a second (TIM-1)


@dataclass(frozen=True)
class Verdict:
    """Something was seen that no state explains: the entry, what was possible instead, the clauses behind."""

    index: int
    word: str
    seen: Any
    possible: Any
    clauses: tuple[str, ...]
    states: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """One line."""
        return (
            f"schedule[{self.index}] {self.word}: no admissible Host shows this ({', '.join(self.clauses)})"
        )

    def differences(self) -> tuple[Difference, ...]:
        """One difference for each clause that is blamed."""
        return tuple(
            Difference(clause, f"schedule[{self.index}]", self.possible, self.seen, self.message)
            for clause in self.clauses
        )


def admitted(scenario: Scenario, observations: Sequence[Observation], handshake: Handshake) -> Verdict | None:
    """None when some behaviour of the machine explains every observation."""
    return None
