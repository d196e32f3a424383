"""A scenario that is made up on a Host on real time: its clock is moved by waiting, and so only a little.

Instants come from the reference that runs beside the Host on the times that really passed. What lies further
ahead than a scenario may wait is not aimed at.
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.host.virtual import VirtualHost

from ..adapter import Connection, Handshake
from ..run import PAST_LEASE_SECONDS
from ..wall_clock import WallClockRun
from .deadlines import Around, around, seconds
from .stage import Entry, Stage

LONGEST_WAIT_SECONDS = 2.0
WAITED_SECONDS = 4.0  # in one scenario, without what it waits by condition


class RealTimeStage(Stage):
    """One scenario being made up on a Host without a clock."""

    real_time = True

    def __init__(self, connection: Connection, handshake: Handshake, versions: Sequence[str] = ()) -> None:
        super().__init__(connection, handshake, versions)
        self._run = WallClockRun(connection, handshake, self.scenario)
        self.run = self._run
        self._left = WAITED_SECONDS

    def offers(self, instrument: str) -> bool:
        """Whether the Host has an instrument; a clock everybody has."""
        return instrument == "clock" or super().offers(instrument)

    def begin(self) -> None:
        """Have a fresh Host set up; raises AdapterFault."""
        self.run.begin()

    def play(self, entry: Entry) -> None:
        """Run one more entry; raises AdapterFault."""
        if "recover" in entry:
            self._left -= self._past_lease
        self._left -= entry.get("advance", 0)
        super().play(entry)

    def can_wait(self, seconds: float) -> bool:
        """Whether there is as much time left."""
        return seconds <= min(self._left, LONGEST_WAIT_SECONDS)

    def can_recover(self) -> bool:
        """Whether there is the time of a lease left."""
        return self._past_lease <= self._left

    @property
    def reference(self) -> VirtualHost | None:
        """The reference that runs beside the Host."""
        return None if self._run.beside is None else self._run.beside.host

    def instants(self) -> list[Around]:
        """The instants around the deadlines in play that can be waited for."""
        reference = self.reference
        if reference is None:
            return []
        return [each for each in around(reference) if self.can_wait(seconds(each.at - self.now))]

    def advance_to(self, instant: int) -> None:
        """Wait, if that is still to come."""
        left = seconds(instant - self.now)
        if 0 < left <= self._left:
            self.play({"advance": left})

    @property
    def _past_lease(self) -> float:
        return self.handshake.lease_seconds + PAST_LEASE_SECONDS


def staged(connection: Connection, handshake: Handshake, versions: Sequence[str] = ()) -> Stage:
    """The stage for a Host, with a clock to move or on real time."""
    kind = Stage if "clock" in handshake.instruments else RealTimeStage
    return kind(connection, handshake, versions)
