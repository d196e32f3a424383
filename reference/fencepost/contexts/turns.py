"""A deterministic driver for coroutines in turns, as an event loop without input and output.

A *turn* runs every coroutine that is ready, until none is. What asked for a later turn (`next_turn`) or for
the next time that the Host is let run (`tick`) waits for it. No coroutine that has begun is ever closed: one
that nobody resumes is dropped.
"""

import inspect
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any

_current: "Turns | None" = None


def current() -> "Turns | None":
    """The driver whose turn is running, or None outside of every turn."""
    return _current


@contextmanager
def suspended() -> Iterator[None]:
    """Inside, no driver is current, though a turn runs: for effects that have an asyncio loop of their
    own."""
    global _current
    outer, _current = _current, None
    try:
        yield
    finally:
        _current = outer


class Abandoned(BaseException):
    """Ends a coroutine for good: whoever awaits it is never resumed."""


class Promise:
    """An awaitable that is settled once; later settlements are ignored."""

    __slots__ = ("_turns", "_waiting", "error", "settled", "value")

    def __init__(self, driver: "Turns") -> None:
        self._turns = driver
        self._waiting: list[Coroutine[Any, Any, Any]] = []
        self.settled = False
        self.value: Any = None
        self.error: BaseException | None = None

    def __await__(self) -> Generator["Promise", None, Any]:
        if not self.settled:
            yield self
        if self.error is not None:
            raise self.error
        return self.value

    def resolve(self, value: Any) -> None:
        """Settle with a value."""
        self._settle(value, None)

    def reject(self, error: BaseException) -> None:
        """Settle with an error; every await raises that same object."""
        self._settle(None, error)

    def wait(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Resume `coroutine` once this is settled."""
        self._waiting.append(coroutine)

    def _settle(self, value: Any, error: BaseException | None) -> None:
        if self.settled:
            return
        self.settled, self.value, self.error = True, value, error
        self._turns.ready(self._waiting)
        self._waiting = []


class Turns:
    """The coroutines of one context, and the turns in which they run."""

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self._wake = wake
        self._ready: deque[Coroutine[Any, Any, Any]] = deque()
        self._results: dict[Coroutine[Any, Any, Any], Promise] = {}
        self._later: list[Promise] = []
        self._ticks: list[Promise] = []
        self._halted = False
        self.passes: tuple[type[BaseException], ...] = (KeyboardInterrupt,)

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> Promise:
        """Schedule a coroutine for the present turn (or the next, outside of one)."""
        promise = Promise(self)
        self._results[coroutine] = promise
        self.ready([coroutine])
        return promise

    def call(self, coroutine: Coroutine[Any, Any, Any]) -> Promise:
        """Run a coroutine at once up to its first await, as the call of an asynchronous function does."""
        promise = Promise(self)
        self._results[coroutine] = promise
        self._resume(coroutine)
        return promise

    def next_turn(self) -> Promise:
        """A promise that the next turn settles first."""
        promise = Promise(self)
        self._later.append(promise)
        return promise

    def tick(self) -> Promise:
        """A promise that `fire_ticks` settles."""
        promise = Promise(self)
        self._ticks.append(promise)
        return promise

    def fire_ticks(self) -> None:
        """Let every floating timer fire once."""
        due, self._ticks = self._ticks, []
        for promise in due:
            promise.resolve(None)

    def ready(self, coroutines: list[Coroutine[Any, Any, Any]]) -> None:
        """Queue coroutines whose promise was settled, and say that there is work."""
        self._ready.extend(coroutines)
        self._wake()

    @property
    def idle(self) -> bool:
        """Whether another turn would do nothing."""
        return not self._ready and not self._later

    def turn(self) -> None:
        """Run until every coroutine waits for something that this turn cannot settle."""
        global _current
        later, self._later = self._later, []
        for promise in later:
            promise.resolve(None)
        outer, _current = _current, self
        try:
            self._halted = False
            while self._ready and not self._halted:
                self._resume(self._ready.popleft())
        finally:
            _current = outer

    def discard(self) -> None:
        """Resume no coroutine any more, and close those that never began, so that nobody warns of them.

        A suspended one is left as it stands. Its ``finally`` blocks run when the last reference to it goes,
        as Python has it, and so in no code that may run in process.
        """
        for coroutine in self._results:
            if inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
                coroutine.close()
        self._ready.clear()

    def halt(self) -> None:
        """End the present turn with the coroutine that runs now; the others wait for the next turn."""
        self._halted = True

    def _resume(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        try:
            awaited = coroutine.send(None)
        except StopIteration as finished:
            self._results.pop(coroutine).resolve(finished.value)
        except Abandoned:
            self._results.pop(coroutine)
        except self.passes:  # whoever drives the turns was interrupted
            raise
        except BaseException as error:  # whatever the application throws is the application's
            self._results.pop(coroutine).reject(error)
        else:
            if not isinstance(awaited, Promise):
                self._ready.append(coroutine)  # a foreign awaitable that yields: simply resume it
            elif awaited.settled:
                self._ready.append(coroutine)
            else:
                awaited.wait(coroutine)
