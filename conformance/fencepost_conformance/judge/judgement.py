"""One pass over what was observed: the ids, the world, and how time and the Host go on between entries.

Every entry but `advance` may be preceded and followed by whatever the Host does by itself. `touch` lets it
have run until now, `settle` brings it to rest. Only ids for which something may have changed are looked at.
"""

import heapq
from collections.abc import Iterable, Mapping
from typing import Any

from ..adapter import Handshake
from ..observations import Observation
from ..scenario import Scenario
from .states import FOREVER
from .tallies import Tallies
from .track import Track
from .world import World

Entry = Mapping[str, Any]

MILLISECONDS = 1000

_HEARING = ("await", "pending")


class Judgement:
    """What is possible so far."""

    def __init__(
        self,
        scenario: Scenario,
        handshake: Handshake,
        tolerance: int | None,
        *,
        whole_seconds: bool = False,
        stance: Mapping[str, str] | None = None,
        losses: int | None = None,
    ) -> None:
        versions = tuple(name for name, weight in scenario.deployed.items() if weight > 0)
        lease = round(handshake.lease_seconds * MILLISECONDS)
        self.scenario = scenario
        self.tolerance = tolerance
        self.world = World(
            lease,
            versions,
            exact=tolerance is None,
            whole_seconds=whole_seconds,
            stance=stance or {},
            losses=losses,
        )
        self.tracks: dict[str, Track] = {}
        self.tallies = Tallies(floating(scenario.programs))
        self.variables: dict[str, Any] = {}
        self.flying: dict[str, Track | None] = {}
        self.heard = {entry[word] for entry in scenario.schedule for word in _HEARING if word in entry}
        self.still = False  # the clock has moved, and nobody has called the Host since
        self._open: dict[str, None] = {}
        self._unsettled: dict[str, None] = {}
        self._uncounted: dict[str, None] = {}
        self._timers: list[tuple[int, str]] = []

    def end(self) -> None:
        """Let go of all code."""
        for track in self.tracks.values():
            track.end()

    def track(self, id: str) -> Track:
        """Everything about one id."""
        if id not in self.tracks:
            self.tracks[id] = Track(self.world, id)
        return self.tracks[id]

    # -- what the Host does by itself --------------------------------------------------------------

    def touch(self) -> None:
        """The Host may have run until now."""
        self.still = False
        while self._timers and self._timers[0][0] <= self.world.late:
            self.wake(heapq.heappop(self._timers)[1])
        self._close()

    def _close(self) -> None:
        for id in self._open:
            track = self.tracks[id]
            track.close()
            if track.calm_until < FOREVER:
                heapq.heappush(self._timers, (track.calm_until, id))
        self._open.clear()

    def wake(self, id: str) -> None:
        """The Host may do something about this id."""
        self.tracks[id].wake()
        for each in (self._open, self._unsettled, self._uncounted):
            each[id] = None

    def changed(self) -> None:
        """Something else may be possible now, everywhere."""
        self.world.stamp += 1
        for id, track in self.tracks.items():
            if not track.inert:
                self.wake(id)

    def settle(self) -> None:
        """The Host was let run; under an exact clock it has come to rest."""
        self.touch()
        if self.world.exact:
            for id in self._unsettled:
                self.tracks[id].settle()
            self._unsettled.clear()

    # -- time --------------------------------------------------------------------------------------

    def advance(self, milliseconds: int) -> None:
        """The clock is moved, and nothing runs."""
        if not self.still:
            self.touch()
        self.still = True
        self._move_to(self.world.clock + milliseconds, self.world.slack)

    def at(self, observation: Observation) -> None:
        """Under a real clock time has passed by itself; whatever came due on the way may have happened."""
        if self.tolerance is None:
            return
        soonest = max(round(observation.began * MILLISECONDS) - self.tolerance, self.world.clock)
        latest = round(observation.ended * MILLISECONDS) + self.tolerance
        self.touch()
        while self._timers and (due := self.world.clock_at(self._timers[0][0])) < soonest:
            self._move_to(max(due, self.world.clock), 0)
            self.touch()
        self._move_to(soonest, latest - soonest)
        self.changed()

    def _move_to(self, clock: int, slack: int) -> None:
        self.world.clock, self.world.slack = clock, max(slack, 0)
        self.world.stamp += 1

    # -- what was read -----------------------------------------------------------------------------

    def read(self, observations: Iterable[Observation]) -> None:
        """Hold the journal's counts, where they were read, against everything that is possible."""
        for each in observations:
            if isinstance(each.answer, Mapping) and "effects" in each.answer:
                self.tallies.hold(each.answer, self.tracks, self._uncounted)
                self._uncounted = {id: None for id in self._uncounted if len(self.tracks[id].states) > 1}


def floating(programs: Any) -> set[str]:
    """The labels of floating timers: how often they fire is nobody's promise."""
    found: set[str] = set()
    pending = [programs]
    while pending:
        value = pending.pop()
        if isinstance(value, Mapping):
            found.update(str(value[word]) for word in ("ticker", "ticking") if word in value)
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
    return found
