"""How the judge is asked about a scenario that was run: nothing comes back unless no Host may show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .adapter import Handshake
from .judge import NotAdmitted, judge
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
    because: str = ""

    @property
    def message(self) -> str:
        """One line."""
        reason = f": {self.because}" if self.because else ""
        return f"no admissible Host shows this after {self.word} ({', '.join(self.clauses)}){reason}"

    def differences(self) -> tuple[Difference, ...]:
        """One difference for each clause that is blamed."""
        return tuple(
            Difference(clause, f"schedule[{self.index}]", self.possible, self.seen, self.message)
            for clause in self.clauses
        )


def admitted(scenario: Scenario, observations: Sequence[Observation], handshake: Handshake) -> Verdict | None:
    """None when some behaviour of the machine explains every observation."""
    exact = "clock" in handshake.instruments
    answer = judge(
        scenario, observations, handshake, tolerance_milliseconds=None if exact else REAL_CLOCK_TOLERANCE
    )
    if not isinstance(answer, NotAdmitted):
        return None
    possible = list(answer.possible)
    return Verdict(
        answer.index, answer.word, answer.seen, possible, answer.clauses, answer.states, answer.because
    )
