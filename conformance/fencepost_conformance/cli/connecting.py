"""Connecting to a Host by name or address, and running scenarios on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .. import hosts
from ..adapter import AdapterFault, Connection
from ..foreign.engines import HOSTS as FOREIGN
from ..generate import profiles
from ..generate.profiles import Profile
from ..report.model import HostFacts
from ..results import CheckResult
from ..runner import AT_ONCE, greet, run_many
from ..scenario import Scenario
from . import sources
from .trouble import Trouble, because

if TYPE_CHECKING:
    from ..generate.search import Found

DEFAULT = "reference"
Progress = Callable[[CheckResult], None]


class Connected:
    """A Host that has shaken hands. One that `is_ours` also runs what rests on the reference's choices.

    On a Host `on_real_time`, one without a clock to move, several scenarios run at once.
    """

    def __init__(
        self, address: str, is_ours: bool, connect: Callable[[], Connection], at_once: int = AT_ONCE
    ) -> None:
        self.is_ours = is_ours
        self._connect = connect
        self._lock = threading.Lock()
        self._first: Connection | None = connect()
        try:
            greeting = greet(self._first)
        except AdapterFault:
            self.close()
            raise
        self.on_real_time = "clock" not in greeting.instruments
        self._at_once = at_once if self.on_real_time else 1
        self.facts = HostFacts(
            address,
            greeting.name,
            greeting.version,
            tuple(sorted(greeting.instruments)),
            greeting.lease_seconds,
            address in FOREIGN,
        )

    def run(self, scenarios: Iterable[Scenario], progress: Progress) -> list[CheckResult]:
        """Run scenarios in the given order; the adapter is started anew when it breaks down."""
        return run_many(self._next, scenarios, progress, at_once=self._at_once)

    def generate(self, profile: Profile, seed: int, progress: Callable[[str], None]) -> Found:
        """Generate scenarios, and have each judged; the adapter is started anew when it breaks down."""
        from ..generate.at_once import search_at_once
        from ..generate.search import search

        if self.on_real_time:
            return search_at_once(self._next, profile, seed, progress, at_once=self._at_once)
        return search(self._next, profile, seed, progress)

    def profile(self, name: str) -> Profile:
        """How much is generated, by name."""
        return (profiles.REAL_TIME if self.on_real_time else profiles.PROFILES)[name]

    def close(self) -> None:
        """End a connection that no run has taken over."""
        if self._first is not None:
            self._first.close()
            self._first = None

    def _next(self) -> Connection:
        with self._lock:
            first, self._first = self._first, None
        return first or self._connect()


@contextmanager
def connect(address: str, at_once: int = AT_ONCE) -> Iterator[Connected]:
    """A Host by name or address, closed at the end; trouble if there is none, or if its adapter is broken.

    `at_once` says how many scenarios run at once on a Host without a clock.
    """
    try:
        make = hosts.resolve(address)
    except hosts.UnknownHost as error:
        raise Trouble(f"{because(error)}{sources.near(address, hosts.BUILT_IN)}") from error
    try:
        connected = Connected(address, hosts.is_ours(address), make, at_once)
        try:
            yield connected
        finally:
            connected.close()
    except AdapterFault as fault:
        raise Trouble(f"{address}: the adapter is broken: {because(fault)}{_last_word(fault)}") from fault


def _last_word(fault: AdapterFault) -> str:
    """The last line that the adapter logged, which is where a traceback says what went wrong."""
    lines = fault.log.strip().splitlines()
    last = lines[-1].strip() if lines else ""
    return f" ({last})" if last and last not in str(fault) else ""
