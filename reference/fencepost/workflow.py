"""What the author of a workflow class sees, and the little concurrency that works under every driver.

A workflow class has ``__init__(self, env)`` and ``async def run(self, event, step)``. The three step calls
begin when they are *called*; what they return may be awaited once, often or never, as with a JavaScript
Promise. Under the in-process driver an awaitable is a `Promise` of that driver; inside an effect that runs on
asyncio it is an asyncio future. `start`, `deferred`, `next_turn` and `tick` hide the difference.

Dropping a suspended coroutine runs its ``finally`` blocks, so only code without ``finally``, ``with`` and
broad ``except`` around an ``await`` may run in process. Everything else runs in a child process, where a stop
is a kill.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from fencepost.contexts import turns


class StepError(Exception):
    """A failure that the Host reports for a step; `name` is own and read-only (ERR-1).

    Constructing one gives it no provenance: the Host knows its own errors by identity (ERR-2).
    """

    def __init__(self, name: str, message: str = "") -> None:
        super().__init__(message or name)
        self.__name = name

    @property
    def name(self) -> str:
        """Exactly ``step_failed`` or ``wait_timeout`` (ERR-1)."""
        return self.__name


@dataclass(frozen=True)
class WorkflowEvent:
    """What `run` is called with: the id of the instance and its params, None when there are none (ABI-2)."""

    instance_id: str
    params: dict[str, Any] | None


class Step(Protocol):
    """The three operations, bound to one instance and one context (STP-1)."""

    def do(
        self, name: str, effect: Callable[[], Any], retry: Mapping[str, Any] | None = None
    ) -> Awaitable[dict[str, Any] | None]:
        """Run `effect` once per attempt and record its document, or None (DO)."""

    def sleep(self, name: str, seconds: int) -> Awaitable[None]:
        """Park for whole seconds, at least until the deadline that the first call fixed (SLP)."""

    def wait_for_event(
        self, name: str, *, type: str, timeout_seconds: int
    ) -> Awaitable[dict[str, Any] | None]:
        """Consume the oldest event of `type`, or fail with ``wait_timeout`` after whole seconds (WFE)."""


def start(coroutine: Coroutine[Any, Any, Any]) -> Awaitable[Any]:
    """Run a coroutine beside the present one, at once up to its first await.

    The awaitable rejects as it does, and silently if nobody looks.
    """
    driver = turns.current()
    if driver is not None:
        return driver.call(coroutine)
    task = asyncio.ensure_future(coroutine)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


def deferred() -> tuple[Awaitable[Any], Callable[[Any], None], Callable[[BaseException], None]]:
    """An awaitable with the two functions that settle it, from inside or outside of the driver."""
    driver = turns.current()
    if driver is not None:
        promise = turns.Promise(driver)
        return promise, promise.resolve, promise.reject
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(how: Callable[[Any], None]) -> Callable[[Any], None]:
        def once(value: Any) -> None:
            if not future.done():
                how(value)

        def soon(value: Any) -> None:
            loop.call_soon_threadsafe(once, value)

        return soon

    return future, settle(future.set_result), settle(future.set_exception)


def next_turn() -> Awaitable[None]:
    """An awaitable that is settled in a later turn, never in the one that called this."""
    driver = turns.current()
    return driver.next_turn() if driver is not None else asyncio.sleep(0)


def tick(milliseconds: int) -> Awaitable[None]:
    """A floating timer: real milliseconds under asyncio; in process the next time that the Host is let
    run."""
    driver = turns.current()
    return driver.tick() if driver is not None else asyncio.sleep(milliseconds / 1000)
