"""What leaves a scenario that is being made up: the exception that ends it, and what is told to a watcher."""

from __future__ import annotations

from ..judging import Verdict
from .stage import Stage


class NotAdmitted(AssertionError):
    """No Host may show what was seen; a subclass for each clause, so that each is a failure of its own."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


_ERRORS: dict[str, type[NotAdmitted]] = {}


def error_class(clause: str) -> type[NotAdmitted]:
    """The subclass for a clause."""
    return _ERRORS.setdefault(clause, type(f"Breaks{clause.replace('-', '')}", (NotAdmitted,), {}))


class Watch:
    """What somebody who looks on is told of each scenario."""

    def finished(self, stage: Stage) -> None:
        """A scenario is over, and the Host is still there."""

    def failed(self, stage: Stage, verdict: Verdict) -> None:
        """A scenario was judged and is not admitted."""

    def broken(self, stage: Stage, fault: Exception) -> None:
        """The adapter, or the judge, broke down in a scenario."""
