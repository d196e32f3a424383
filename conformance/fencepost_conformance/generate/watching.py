"""What is told to somebody who looks on while a scenario is made up."""

from __future__ import annotations

from ..judging import Verdict
from .stage import Stage


class NotAdmitted(AssertionError):
    """No Host may show what was seen."""


class Watch:
    """What somebody who looks on is told of each scenario."""

    def finished(self, stage: Stage) -> None:
        """A scenario is over, and the Host is still there."""

    def failed(self, stage: Stage, verdict: Verdict) -> None:
        """A scenario was judged and is not admitted."""

    def broken(self, stage: Stage, fault: Exception) -> None:
        """The adapter, or the judge, broke down in a scenario."""
