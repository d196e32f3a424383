"""What a check says of one scenario; verdicts on clauses and runs are made out of these elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .observations import Observation

Outcome = Literal["passed", "failed", "unmeasured", "errored"]


@dataclass(frozen=True)
class Difference:
    """One expectation that did not hold: the clause blamed, where it stands (``schedule[5]``), both sides."""

    clause: str
    at: str
    expected: Any
    seen: Any
    message: str


@dataclass(frozen=True)
class CheckResult:
    """The outcome of one scenario on one Host; `seconds` is real time.

    `observations`, and the last lines of the adapter's `log`, are kept where the check failed, for whoever
    wants to see how it came to that.
    """

    scenario: str
    title: str
    clauses: tuple[str, ...]
    outcome: Outcome
    differences: tuple[Difference, ...] = ()
    missing: tuple[str, ...] = ()
    detail: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    observations: tuple[Observation, ...] = field(default=(), compare=False, repr=False)
    log: tuple[str, ...] = field(default=(), compare=False, repr=False)
