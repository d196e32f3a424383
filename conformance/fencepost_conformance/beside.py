"""The reference, run beside a Host whose clock nobody moves: its own is moved by the time that really passed.

It says how far a Host may be expected to be by now (`Beside`), and, once an expectation was not met, whether
that could have been met at all at the moments that really passed (`tenable`). What is expected is written by
hand and stands in the scenario. The reference only says of which expectations real time has made an end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from fencepost.host.managed import ManagedHost

from .adapter import AdapterFault
from .expectations import shown
from .hosts.reference import ReferenceAdapter
from .inprocess import ONE_AT_A_TIME, InProcess
from .run import Run, word_of
from .runner import greet
from .scenario import Scenario, ScenarioError

COARSE_SECONDS = 1.0  # a Host's clock may be as coarse as this (TIM-1)

_TIME = frozenset({"advance", "settle", "recover"})
_LEAST_LEASE_SECONDS = 0.5  # less than what `recover` waits beyond the lease
_MILLISECONDS = 1000

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Moment:
    """An entry, and the real seconds since the scenario began in which it was played."""

    entry: Entry
    began: float
    ended: float


class Beside:
    """One scenario on the reference; AdapterFault or ScenarioError where it cannot follow."""

    def __init__(self, scenario: Scenario, lease_seconds: float) -> None:
        connection = InProcess(ReferenceAdapter(_leased(max(lease_seconds, _LEAST_LEASE_SECONDS))))
        self.run = Run(connection, greet(connection), scenario)
        self._clock = 0
        with ONE_AT_A_TIME:
            self.run.begin()

    @property
    def host(self) -> ManagedHost:
        """The reference itself."""
        adapter: ReferenceAdapter = self.run.connection.adapter  # type: ignore[attr-defined]
        return adapter.host

    def pass_until(self, seconds: float) -> None:
        """Let time pass until so many seconds after the beginning, and let the Host run."""
        with ONE_AT_A_TIME:
            milliseconds = round(seconds * _MILLISECONDS)
            if milliseconds > self._clock:
                self.run.ask("advance", milliseconds=milliseconds - self._clock)
                self._clock = milliseconds
            self.run.ask("settle")

    def enter(self, entry: Entry, seconds: float) -> None:
        """Play the next entry at a moment; those that only let time pass do that until then."""
        with ONE_AT_A_TIME:
            self.pass_until(seconds)
            if word_of(entry) in _TIME:
                self.run.index += 1
            else:
                self.run.enter(entry)

    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """What the journal has counted."""
        with ONE_AT_A_TIME:
            counts: Mapping[str, Mapping[str, int]] = self.run.ask("journal")
            return counts

    def status(self, id: Any) -> Any:
        """The status of an instance, or the rejection."""
        with ONE_AT_A_TIME:
            answer = self.run.call("status", {"id": id})
            return None if answer is None else shown(answer)


def tenable(scenario: Scenario, lease_seconds: float, moments: Sequence[Moment]) -> bool:
    """Whether the reference meets the expectation of the last of these moments, also with a coarse clock."""
    at = f"schedule[{len(moments) - 1}]"
    for times in _clocks(moments):
        try:
            beside = Beside(scenario, lease_seconds)
            for moment, seconds in zip(moments, times, strict=True):
                beside.enter(moment.entry, seconds)
        except (AdapterFault, ScenarioError):
            return False
        if any(difference.at == at for difference in beside.run.differences):
            return False
    return True


def _clocks(moments: Sequence[Moment]) -> Iterator[list[float]]:
    """When each entry may have been played by the Host's own clock: when it began or ended, and with each of
    the gaps between two entries taken for a second more than it was."""
    began = [each.ended if word_of(each.entry) in _TIME else each.began for each in moments]
    yield began
    yield [each.ended for each in moments]
    for gap in range(1, len(began)):
        yield began[:gap] + [each + COARSE_SECONDS for each in began[gap:]]


def cut(moments: Sequence[Moment], began: float, ended: float) -> list[Moment]:
    """The same moments, the last one at another time."""
    return [*moments[:-1], replace(moments[-1], began=began, ended=ended)]


@cache
def _leased(seconds: float) -> type[ManagedHost]:
    return type("LeasedHost", (ManagedHost,), {"lease_seconds": seconds})
