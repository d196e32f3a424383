"""Calls in flight: those that end only when the instance that they are about does."""

from concurrent.futures import Future
from dataclasses import dataclass

from fencepost.host.calls import CallError


@dataclass(frozen=True)
class Flight:
    """A call that waits for an outcome to be published; `ends_with` is its error then, None for success."""

    future: Future[None]
    ends_with: CallError | None = None


class Flights:
    """The calls in flight of one Host, by the instance that they wait for."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], list[Flight]] = {}

    def awaited(self) -> tuple[tuple[str, str], ...]:
        """The instances whose end somebody waits for."""
        return tuple(self._waiting)

    def take_off(self, key: tuple[str, str], ends_with: CallError | None = None) -> Future[None]:
        """Begin to wait for the end of an instance."""
        flight = Flight(Future(), ends_with)
        self._waiting.setdefault(key, []).append(flight)
        return flight.future

    def land(self, key: tuple[str, str]) -> None:
        """The instance has ended: answer everybody who waits for it (TRM-5)."""
        for flight in self._waiting.pop(key, ()):
            if flight.ends_with is None:
                flight.future.set_result(None)
            else:
                flight.future.set_exception(flight.ends_with)

    def abort(self, key: tuple[str, str], error: CallError) -> None:
        """Reject the calls that wait for one instance."""
        for flight in self._waiting.pop(key, ()):
            flight.future.set_exception(error)

    def reject_terminates(self, error: CallError) -> None:
        """Reject the calls that would succeed once their instance has ended."""
        for key, flights in list(self._waiting.items()):
            self._waiting[key] = [flight for flight in flights if flight.ends_with is not None]
            for flight in flights:
                if flight.ends_with is None:
                    flight.future.set_exception(error)

    def abort_all(self, error: CallError) -> None:
        """Reject every call in flight."""
        for key in list(self._waiting):
            self.abort(key, error)
