"""The caller's binding over a store, from any process: create, get, status, sendEvent, terminate.

It runs nothing. What it accepts is durable when it answers, and whichever worker sees it first goes on with
it. A call that has to wait for an end looks at the store whenever somebody has written, and now and then.
"""

import contextlib
import math
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from fencepost import documents
from fencepost.durable.store import Store, StoreUnavailable
from fencepost.history import History
from fencepost.host.calls import CallError
from fencepost.host.commands import Command
from fencepost.host.engine import Engine, Key
from fencepost.host.running import TERMINAL
from fencepost.machine import Rules, Slot
from fencepost.machine.actions import Action, Get, ReadStatus
from fencepost.machine.events import UNKNOWN
from fencepost.machine.records import evolve
from fencepost.machine.replies import Reply
from fencepost.machine.state import Instance

UID = "workflow-1"
"""The Workflow resource that is meant where none is named."""

_FIRST_LOOK_SECONDS, _LAST_LOOK_SECONDS = 0.002, 0.05
_ANY_LOOK_SECONDS = 1.0
"""How long to wait for an end where a file would say that somebody has written."""


class Handle:
    """One instance, as its caller sees it (BND-1)."""

    def __init__(self, host: "DurableHost", id: str) -> None:
        self._host, self._id = host, id

    @property
    def id(self) -> str:
        """The id, chosen by the caller or issued by the Host (BND-2)."""
        return self._id

    def status(self) -> dict[str, Any]:
        """Status, output when complete, error when errored (BND-6)."""
        return self._host.status(self._id)

    def send_event(
        self, type: str, payload: Mapping[str, Any] | None = None, *, command: str | None = None
    ) -> None:
        """Return once the event is accepted (EVT-1); with a command id it may be sent again."""
        self._host.by(command).send_event(self._id, type, payload)

    def terminate(self, seconds: float | None = None, *, command: str | None = None) -> None:
        """Return once the code is stopped and an outcome is published (TRM-1); TimeoutError after
        `seconds`."""
        done = self._host.by(command).terminate(self._id)
        for _ in self._looks(seconds):
            self._host.land()
            if done.done():
                done.result()
                return
        raise TimeoutError(f"instance {self._id} is not proven stopped after {seconds} s")

    def wait(self, seconds: float | None = None) -> dict[str, Any]:
        """The status document once it is terminal; TimeoutError after `seconds`."""
        shown = self.status()
        for _ in self._looks(seconds):
            shown = self.status()
            if shown["status"] in TERMINAL:
                return shown
        raise TimeoutError(f"instance {self._id} is {shown['status']} after {seconds} s")

    def _looks(self, seconds: float | None) -> Iterator[None]:
        """Come back whenever something may have ended, until the time is over."""
        until = math.inf if seconds is None else time.monotonic() + seconds
        told, store, pause = threading.Event(), self._host.store, _FIRST_LOOK_SECONDS
        with store.hears(told, self._host.key(self._id)):
            while True:
                told.clear()
                seen = store.stamp()
                yield
                left = min(until - time.monotonic(), pause if seen is None else _ANY_LOOK_SECONDS)
                if left <= 0:
                    return
                store.rest(told, seen, left)
                pause = min(2 * pause, _LAST_LOOK_SECONDS)


@contextlib.contextmanager
def _reached() -> Iterator[None]:
    """Reject with `backend_unavailable` what the store cannot do (BND-8)."""
    try:
        yield
    except StoreUnavailable as error:
        raise CallError("backend_unavailable", str(error)) from error  # BND-8


def _keepable(key: Key) -> Key:
    """The key, or one under which nothing is ever held, where an id is no text that could be kept (BND-9)."""
    return key if documents.scalars(key[1]) is not None else (key[0], "")


class DurableHost(Engine):
    """The binding of one Workflow resource. One thread at a time."""

    def __init__(self, store: Store | str | Path, uid: str = UID, rules: Rules | None = None) -> None:
        self.store = store if isinstance(store, Store) else Store(store, rules)
        super().__init__(self.store.rules)
        self.uid = uid

    def close(self) -> None:
        """Let the store go; calls in flight are rejected."""
        self.flights.abort_all(CallError("backend_unavailable", "the Host is closed"))
        self.store.close()

    def start(
        self, params: Mapping[str, Any] | None = None, id: str | None = None, *, command: str | None = None
    ) -> Handle:
        """Create an instance; `CallError` with the Form's name for it when it is refused (BND-3, DOC-8)."""
        return Handle(self, self.by(command).create(id, params))

    def handle(self, id: str) -> Handle:
        """The handle of an instance that is held (BND-4)."""
        return Handle(self, self.get(id))

    def land(self) -> None:
        """Answer the calls in flight whose instance has ended, or is not there any more."""
        for key in self.flights.awaited():
            slot = self.slot(key)
            if not isinstance(slot, Instance):
                self.flights.abort(key, CallError("unknown_instance", "the instance was forgotten"))
            elif slot.terminal is not None:
                self.flights.land(key)

    def key(self, id: str) -> Key:
        """Under which key an instance is kept."""
        return _keepable(self._key(id))

    # -- what an engine asks of its Host -----------------------------------------------------------

    @property
    def now(self) -> int:
        """Nothing: the instant of an action is that of its transaction."""
        return 0

    def run(self) -> None:
        """Workers do."""

    def slot(self, key: Key) -> Slot:
        """What is kept under a key; `backend_unavailable` when it cannot be told (BND-8)."""
        with _reached():
            return self.store.slot(_keepable(key))

    def perform(self, key: Key, action: Action) -> Reply:
        """Apply one action, durably, and tell who waits for it."""
        writes = not isinstance(action, Get | ReadStatus)
        with _reached():
            applied = self.store.transact(
                lambda unit: unit.perform(_keepable(key), lambda now: evolve(action, now=now)), writes
            )
        state = applied.transition.state
        if isinstance(state, Instance) and state.terminal is not None:
            self.flights.land(key)
        return applied.transition.reply

    def once(self, key: Key, action: Action, command: Command) -> Reply:
        """Apply an action and keep its command in one transaction, or answer as before."""
        kept = _keepable(key)
        with _reached():
            return self.store.transact(
                lambda unit: unit.once(kept, lambda now: evolve(action, now=now), command)
            )

    def history(self, id: Any) -> History:
        """The history of the run that is held under an id, for diagnosis; `unknown_instance`."""
        with _reached():
            found = self.store.history(self.key(id))
        if found is None:
            raise CallError(UNKNOWN.name, UNKNOWN.message)
        return found

    def terminate(self, id: Any) -> Future[None]:
        """Begin a terminate; `land` ends the future once an outcome is published (TRM-1)."""
        return super().terminate(id)

    def _issue(self) -> str:
        return f"instance-{uuid.uuid4()}"
