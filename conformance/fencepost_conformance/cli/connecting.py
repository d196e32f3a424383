"""Connecting to a Host by name or address, and running scenarios on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from ..adapter import AdapterFault, Connection
from ..inprocess import InProcess
from ..report.model import HostFacts
from ..results import CheckResult
from ..runner import greet, run_many
from ..scenario import Scenario
from . import sources
from .trouble import Trouble, because

DEFAULT = "reference"
Progress = Callable[[CheckResult], None]


class Connected:
    """A Host that has shaken hands. One that `is_ours` also runs what rests on the reference's choices."""

    def __init__(self, address: str, is_ours: bool, connect: Callable[[], Connection]) -> None:
        self.is_ours = is_ours
        self._connect = connect
        self._first: Connection | None = connect()
        greeting = greet(self._first)
        self.facts = HostFacts(address, greeting.name, greeting.version, tuple(sorted(greeting.instruments)))

    def run(self, scenarios: Iterable[Scenario], progress: Progress) -> list[CheckResult]:
        """Run scenarios in the given order; the adapter is started anew when it breaks down."""
        return run_many(self._next, scenarios, progress)

    def close(self) -> None:
        """End a connection that no run has taken over."""
        if self._first is not None:
            self._first.close()
            self._first = None

    def _next(self) -> Connection:
        first, self._first = self._first, None
        return first or self._connect()


@contextmanager
def connect(address: str) -> Iterator[Connected]:
    """A Host by name or address, closed at the end; trouble if there is none, or if its adapter is broken."""
    is_ours, make = _resolve(address)
    try:
        connected = Connected(address, is_ours, make)
        try:
            yield connected
        finally:
            connected.close()
    except AdapterFault as fault:
        raise Trouble(f"{address}: the adapter is broken: {because(fault)}") from fault


def _resolve(address: str) -> tuple[bool, Callable[[], Connection]]:
    from ..hosts import reference

    if address == DEFAULT:
        return True, lambda: InProcess(reference.make())
    raise Trouble(f"{address} is no Host{sources.near(address, listed()) or '; see fencepost list hosts'}")


def listed() -> dict[str, str]:
    """The Hosts that come with the kit, and what each is."""
    return {DEFAULT: "the reference, with every instrument"}
