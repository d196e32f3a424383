"""The reference Host under the real clock, but for how a context is run: memory for a store, a process each.

One thread supervises: it does what the machine has enabled, for the instances that something happened
to, and sleeps until the next deadline. One thread a context carries what its code asks and proposes to the
machine. A stop is a kill that is confirmed, so whatever the application's code is doing, `sleeping`,
`waiting` and terminal statuses appear only after it.

What this Host promises ends with its process: the store is memory.
"""

import heapq
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from fencepost.contexts.execution import Proposal
from fencepost.contexts.forkserver import ServerLost
from fencepost.host.back_off import BackOff
from fencepost.host.calls import CallError, Moment
from fencepost.host.engine import LEASE_SECONDS, Engine, Key
from fencepost.host.launching import Running
from fencepost.host.observation import Sighting, Snapshot, Trace
from fencepost.host.proposals import action_of
from fencepost.machine import Rules, Transition, next_instant, status_of
from fencepost.machine.actions import Action, BeginStep, Claim, Crash, Get, ReadStatus, Renew
from fencepost.machine.replies import Fenced, Impossible, Reply
from fencepost.machine.state import MILLISECONDS, Instance, Kind

VERSION = "v1"
TERMINAL = frozenset({"complete", "errored", "terminated"})


def _gone() -> CallError:
    return CallError("backend_unavailable", "the Host is closed, or has lost what runs its contexts")


class Handle:
    """One instance, as its caller sees it (BND-1)."""

    def __init__(self, host: "RunningHost", id: str) -> None:
        self._host = host
        self._id = id

    @property
    def id(self) -> str:
        """The id, chosen by the caller or issued by the Host (BND-2)."""
        return self._id

    def status(self) -> dict[str, Any]:
        """Status, output when complete, error when errored (BND-6)."""
        with self._host.lock:
            return self._host.status(self._id)

    def send_event(
        self, type: str, payload: Mapping[str, Any] | None = None, *, command: str | None = None
    ) -> None:
        """Return once the event is accepted (EVT-1); with a command id it may be sent again."""
        with self._host.lock:
            self._host.by(command).send_event(self._id, type, payload)

    def terminate(self, seconds: float | None = None, *, command: str | None = None) -> None:
        """Return once the code is stopped and an outcome is published (TRM-1); TimeoutError after
        `seconds`."""
        with self._host.lock:
            done = self._host.by(command).terminate(self._id)
        done.result(seconds)

    def wait(self, seconds: float | None = None) -> dict[str, Any]:
        """The status document once it is terminal; TimeoutError after `seconds`."""
        with self._host.lock:
            if not self._host.lock.wait_for(lambda: self.status()["status"] in TERMINAL, seconds):
                raise TimeoutError(f"instance {self._id} is {self.status()['status']} after {seconds} s")
            return self.status()


class RunningHost(Engine):
    """Runs the instances of one workflow class until it is closed; a context manager.

    Whoever adds how contexts are run calls `begin` once it is ready for them.
    """

    def __init__(self, rules: Rules | None = None) -> None:
        super().__init__(rules)
        self.lock = threading.Condition(threading.RLock())
        self._running: dict[tuple[Key, int], Running] = {}
        self._touched: set[Key] = set()
        self._timers: list[tuple[int, Key]] = []
        self._crashes = BackOff()
        self._timed: set[tuple[int, Key]] = set()
        self._last_instant = 0
        self._trace = Trace()
        self._watchers: list[Callable[[], None]] = []
        self._closed = False
        self._supervisor = threading.Thread(target=self._supervise, name="fencepost-supervisor", daemon=True)

    def begin(self) -> None:
        """Begin to supervise."""
        self._supervisor.start()

    # -- how contexts are run ------------------------------------------------------------------------

    def launch(self, key: Key, token: int, instance: Instance) -> Running:
        """Start a context; raises ServerLost."""
        raise NotImplementedError

    def end_contexts(self) -> None:
        """Kill all that was launched, and what launches it."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------

    def __enter__(self) -> "RunningHost":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill every context and end; nothing is left running, and every call is rejected from now on."""
        with self.lock:
            self._closed = True
            self.lock.notify_all()
        self._supervisor.join()
        self.end_contexts()
        for running in self._running.values():
            running.join()

    def until_closed(self) -> None:
        """Return once the Host is closed, or has lost what runs its contexts."""
        with self.lock:
            self.lock.wait_for(lambda: self._closed)

    def start(
        self, params: Mapping[str, Any] | None = None, id: str | None = None, *, command: str | None = None
    ) -> Handle:
        """Create an instance; `CallError` with the Form's name for it when it is refused (BND-3, DOC-8)."""
        with self.lock:
            return Handle(self, self.by(command).create(id, params))

    def handle(self, id: str) -> Handle:
        """The handle of an instance that is held (BND-4)."""
        with self.lock:
            return Handle(self, self.get(id))

    # -- what there is to see ------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Everything that is held at this instant, as immutable states."""
        with self.lock:
            held = {key[1]: slot for key, slot in self.slots.items() if isinstance(slot, Instance)}
            running = ((key[1], token, each.pid) for (key, token), each in self._running.items())
            pids = {(id, token): pid for id, token, pid in running if pid is not None}
            return Snapshot(self.now, self._trace.last, held, pids, self._closed)

    def sightings(self, after: int = 0) -> tuple[Sighting, ...]:
        """The newest moments with a number beyond `after`; old ones are forgotten."""
        with self.lock:
            return self._trace.after(after)

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Have `wake` called after every moment, with the lock held, so it must be quick; ends it when
        called."""
        with self.lock:
            self._watchers.append(wake)

        def unsubscribe() -> None:
            with self.lock:
                self._watchers.remove(wake)

        return unsubscribe

    # -- what an engine asks of its Host -----------------------------------------------------------

    @property
    def now(self) -> int:
        """Milliseconds since 1970, never going back."""
        self._last_instant = max(self._last_instant, time.time_ns() // 1_000_000)
        return self._last_instant

    def reach(self) -> None:
        """Nothing is answered after the end (BND-8)."""
        if self._closed:
            raise _gone()

    def run(self) -> None:
        """Let the supervisor look, if there is anything to see."""
        if self._touched:
            self.lock.notify_all()

    def note(self, key: Key, action: Action, transition: Transition) -> None:
        """Remember which instance to look at, and what happened."""
        if isinstance(action, Get | ReadStatus):
            return
        self._touched.add(key)
        if not isinstance(action, Renew):
            slot, reply, clauses = transition
            status = status_of(slot) if isinstance(slot, Instance) else None
            self._trace.add(Moment(self.now, key[1], action, reply, clauses, status), slot)
            for wake in self._watchers:
                wake()

    def pick_version(self) -> str | None:
        """There is one Version."""
        return VERSION

    def may_claim(self, key: Key) -> bool:
        """Not while a crash is too recent."""
        return not self._crashes.waits(key, self.now)

    def can_stop(self, key: Key, token: int) -> bool:
        """Kill it, and return once it is reaped."""
        self._stop(key, token)
        return True

    def _stop(self, key: Key, token: int) -> bool:
        running = self._running.pop((key, token), None)
        if running is None:
            return False
        running.stop()
        return True

    # -- the supervisor ----------------------------------------------------------------------------

    def _supervise(self) -> None:
        with self.lock:
            try:
                self._work()
            except ServerLost:
                pass  # nothing can be run or proven stopped any more
            finally:
                self._closed = True
                self.flights.abort_all(_gone())
                self.lock.notify_all()
                for wake in self._watchers:
                    wake()

    def _work(self) -> None:
        renewal = self._renew()
        while not self._closed:
            while self._touched:
                self._look_at(self._touched.pop())
            self.lock.notify_all()
            if self.now >= renewal:
                renewal = self._renew()
            self._wait_until(min(renewal, self._timers[0][0]) if self._timers else renewal)
            while self._timers and self._timers[0][0] <= self.now:
                timer = heapq.heappop(self._timers)
                self._timed.discard(timer)
                self._touched.add(timer[1])

    def _wait_until(self, instant: int) -> None:
        if not self._touched and instant > self.now:
            self.lock.wait((instant - self.now) / MILLISECONDS)

    def _look_at(self, key: Key) -> None:
        while action := self.next_move(key):
            self.perform(key, action)
            if isinstance(action, Claim):
                self._start(key, action.token)
        self._touched.discard(key)
        instant = next_instant(self.slot(key))
        if instant is not None:
            self._set_timer(instant, key)

    def _set_timer(self, instant: int, key: Key) -> None:
        if (instant, key) not in self._timed:
            self._timed.add((instant, key))
            heapq.heappush(self._timers, (instant, key))

    def _renew(self) -> int:
        lease_until = self.now + LEASE_SECONDS * MILLISECONDS
        for key, token in self._running:
            self.perform(key, Renew(self.now, token, lease_until))
        return self.now + LEASE_SECONDS * MILLISECONDS // 3

    # -- what contexts say ---------------------------------------------------------------------------

    def _start(self, key: Key, token: int) -> None:
        slot = self.slot(key)
        assert isinstance(slot, Instance)
        self._running[key, token] = self.launch(key, token, slot)

    def begin_step(self, key: Key, token: int, kind: Kind, name: Any, arguments: Mapping[str, Any]) -> Reply:
        """A step call of a context; called by its thread."""
        with self.lock:
            return self._apply(key, token, BeginStep(self.now, token, kind, name, arguments))

    def propose(self, key: Key, token: int, proposal: Proposal) -> Reply:
        """A proposal of a context; called by its thread. ValueError if it has no place there."""
        with self.lock:
            reply = self._apply(key, token, action_of(self.now, token, proposal))
            if not reply.refused:
                self._crashes.forget(key)
            return reply

    def _apply(self, key: Key, token: int, action: Action) -> Reply:
        if self._closed or (key, token) not in self._running:
            return Fenced()
        reply = self.perform(key, action)
        self.lock.notify_all()
        if isinstance(reply, Impossible):
            raise ValueError(reply.why)
        return reply

    def quiet(self, key: Key, token: int) -> None:
        """A run awaits something that nobody will settle: it stays until it is terminated."""

    def fail(self) -> None:
        """Nothing can be run any more."""
        with self.lock:
            self._closed = True
            self.lock.notify_all()

    def lost(self, key: Key, token: int) -> None:
        """A context is gone, or not to be believed; called by its thread, also when it was stopped."""
        with self.lock:
            try:
                if not self._closed and self._stop(key, token):
                    self._set_timer(self._crashes.crashed(key, self.now), key)
                    self.perform(key, Crash(self.now, token))
            except ServerLost:
                self._closed = True
            self.lock.notify_all()
