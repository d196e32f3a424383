"""How the judge is asked about a scenario that was run: nothing comes back unless no Host may show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from fencepost_spec import catalogue

from .adapter import Handshake
from .inprocess import ONE_AT_A_TIME
from .judge import NotAdmitted, judge
from .observations import Observation
from .results import Difference
from .scenario import Scenario
from .verdict import standing

REAL_CLOCK_TOLERANCE = 2000  # milliseconds; a Host's clock may be as coarse as a second (TIM-1)
_MOST_CLAUSES = 8


@dataclass(frozen=True)
class Verdict:
    """Something was seen that no state explains: the entry, what was possible instead, and the clauses that
    speak against it, the likeliest first."""

    index: int
    word: str
    seen: Any
    possible: Any
    clauses: tuple[str, ...]
    states: tuple[str, ...] = ()
    because: str = ""

    def blamed(self, named: Iterable[str] = ()) -> str:
        """The one clause to blame: of those that a scenario names the first that speaks against it, else the
        likeliest."""
        return next((clause for clause in named if clause in self.clauses), self.clauses[0])

    def message(self, blamed: str) -> str:
        """One line, which names the other clauses too."""
        others = ", ".join(clause for clause in self.clauses if clause != blamed)
        reason = f": {self.because}" if self.because else ""
        speaking = f"{blamed}, or {others}" if others else blamed
        return f"no admissible Host shows this after {self.word} ({speaking}){reason}"

    def differences(self, named: Iterable[str] = ()) -> tuple[Difference, ...]:
        """What was seen, as the one difference that it is; `named` are clauses that the scenario names."""
        blamed = self.blamed(named)
        at = f"schedule[{self.index}]"
        return (Difference(blamed, at, self.possible, self.seen, self.message(blamed)),)


@cache
def _with_verdicts() -> frozenset[str]:
    clauses = catalogue.load().clauses
    return frozenset(name for name, clause in clauses.items() if standing(clause) == "judged")


def admitted(scenario: Scenario, observations: Sequence[Observation], handshake: Handshake) -> Verdict | None:
    """None when some behaviour of the machine explains every observation."""
    exact = "clock" in handshake.instruments
    with ONE_AT_A_TIME:
        answer = judge(
            scenario if exact else _on_real_time(scenario),
            observations,
            handshake,
            tolerance_milliseconds=None if exact else REAL_CLOCK_TOLERANCE,
        )
    if not isinstance(answer, NotAdmitted):
        return None
    possible = list(answer.possible)
    speaking = [*answer.clauses, *answer.others]
    clauses = [clause for clause in speaking if clause in _with_verdicts()][:_MOST_CLAUSES]
    return Verdict(
        answer.index,
        answer.word,
        answer.seen,
        possible,
        tuple(clauses or speaking[:1]),
        answer.states,
        answer.because,
    )


def _on_real_time(scenario: Scenario) -> Scenario:
    """The scenario without its moves of the clock: what was seen says how much time passed."""
    moved: dict[str, dict[str, Any]] = {"advance": {"advance": 0}, "recover": {"settle": True}}
    schedule = [next((moved[word] for word in moved if word in entry), entry) for entry in scenario.schedule]
    return Scenario(scenario.id, {**scenario.document, "schedule": schedule})
