"""A connection to an adapter object in this process. It never blocks: a call in flight is a Future."""

import inspect
import threading
from concurrent.futures import Future
from typing import Any

from .adapter import AdapterFault, Answer, Handshake
from .bench import Bench, failure, fault

ONE_AT_A_TIME = threading.RLock()
"""Held by whoever runs the reference where there are several threads: its turns are those of one."""


class InProcess:
    """A Connection around an adapter whose methods are plain; an `async` one belongs into a child process."""

    patience = 0.0
    grace = 0.0

    def __init__(self, adapter: Any) -> None:
        self.greeting: Handshake | None = None
        self.broken = False
        self._bench = Bench(adapter)
        self._closed = False
        self._tickets = 0
        self._answers: dict[int, Answer] = {}
        self._flying: dict[int, tuple[str, Future[Any]]] = {}

    @property
    def adapter(self) -> Any:
        """The adapter itself, for those who want to look inside after a scenario."""
        return self._bench.adapter

    def send(self, op: str, **arguments: Any) -> int:
        """Make the call now; a Future that it returns is kept until it is done."""
        self._tickets += 1
        ticket = self._tickets
        try:
            value = self._bench.perform(op, arguments)
        except Exception as error:
            self._answers[ticket] = self._failed(op, error)
        else:
            if op == "begin":
                self._flying.clear()  # of a scenario that is over
            if isinstance(value, Future):
                self._flying[ticket] = (op, value)
            else:
                self._answers[ticket] = Answer(self._plain(op, value))
        return ticket

    def poll(self, ticket: int, seconds: float) -> Answer | None:
        """The answer if there is one; waiting would be in vain, since nobody else runs."""
        if ticket in self._answers:
            return self._answers.pop(ticket)
        op, future = self._flying[ticket]
        if not future.done():
            return None
        del self._flying[ticket]
        error = future.exception()
        return Answer(future.result()) if error is None else self._failed(op, error)

    def unanswered(self) -> list[str]:
        """The ops that wait for an answer, in order."""
        return [op for op, _ in self._flying.values()]

    def log(self) -> str:
        """Nothing: the adapter's log is the kit's own."""
        return ""

    def lines(self) -> list[str]:
        """Nothing."""
        return []

    def close(self) -> None:
        """Let the adapter close itself, if it can."""
        close = None if self._closed else self._bench.method("close")
        self._closed = True
        if close is not None:
            close()

    def _failed(self, op: str, error: BaseException) -> Answer:
        rejection = failure(error)
        if rejection is None:
            raise AdapterFault(fault(op, error)) from error
        return Answer(error=rejection)

    def _plain(self, op: str, value: Any) -> Any:
        if inspect.isawaitable(value):
            if inspect.iscoroutine(value):
                value.close()
            raise AdapterFault(
                f"{op} is async; name the adapter as python:MODULE:FACTORY to run it in a child"
            )
        return value
