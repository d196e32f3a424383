"""The caller's binding of every Workflow, over the database: called by Workers and by instances.

A call is made at once and under one lock; one that waits for the end of an instance is answered by a thread
that looks for it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

from fencepost.contexts.node import Binding
from fencepost.durable.host import DurableHost
from fencepost.durable.store import Store as Database
from fencepost.host.binding import Answer, Encoded, make, parsed, rejection
from fencepost.host.calls import CallError
from fencepost.machine.actions import Document
from fencepost.management import queries
from fencepost.management.state import State

LOOK_SECONDS = 0.02
IDLE_SECONDS = 1.0


class _Caller(DurableHost):
    """Takes documents that JavaScript has written."""

    def admit(self, value: Any) -> Document:
        """A document as the machine is told of it."""
        return value.document if isinstance(value, Encoded) else super().admit(value)


class Calls:
    """Makes Bindings, and answers what is called through them."""

    def __init__(self, database: Database, state: Callable[[], State]) -> None:
        self._caller, self._state = _Caller(database, ""), state
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._land, name="fencepost-landing", daemon=True)

    def begin(self) -> None:
        """Begin to look for ends."""
        self._thread.start()

    def close(self) -> None:
        """Reject what is in flight, and answer nothing any more."""
        self._closed = True
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join()
        with self._lock:
            self._caller.flights.abort_all(CallError("backend_unavailable", "the Host is closed"))

    def binding(self, uid: str) -> Binding:
        """The binding of one Workflow, for code in JavaScript."""

        def call(op: str, arguments: Mapping[str, Any], answer: Answer) -> None:
            wanted = parsed(op, arguments)
            if op == "create" and queries.admission(self._state(), uid) == "unready":
                answer(rejection(CallError("backend_unavailable", "the Workflow is not ready")))  # RDY-1
                return
            with self._lock:
                self._caller.uid = uid
                make(self._caller, wanted, answer)
            self._wake.set()

        return call

    def _land(self) -> None:
        while not self._closed:
            self._wake.clear()
            with self._lock:
                with contextlib.suppress(CallError):  # the database does not answer: whoever waits, waits
                    self._caller.land()
                waits = bool(self._caller.flights.awaited())
            self._wake.wait(LOOK_SECONDS if waits else IDLE_SECONDS)
