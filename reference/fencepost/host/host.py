"""The reference Host as a library: one workflow class, the real clock, memory for a store, a process for
each context.

One thread supervises: it does what the machine has enabled, for the instances that something happened
to, and sleeps until the next deadline. One thread a context carries its questions to the machine. A
stop is a kill that the fork server has confirmed, so whatever the application's code is doing,
`sleeping`, `waiting` and terminal statuses appear only after it.

What this Host promises ends with its process: the store is memory.
"""

import heapq
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fencepost.contexts.forkserver import Export, ForkServer, ServerLost
from fencepost.contexts.wire import Channel, proposal_in, reply_out
from fencepost.host.back_off import BackOff
from fencepost.host.calls import CallError, Moment
from fencepost.host.engine import LEASE_SECONDS, Engine, Key
from fencepost.host.observation import Sighting, Snapshot, Trace
from fencepost.machine import Rules, Transition, next_instant, status_of
from fencepost.machine.actions import Action, BeginStep, Claim, Crash, Get, ReadStatus, Renew
from fencepost.machine.replies import Fenced, Impossible, Reply
from fencepost.machine.state import MILLISECONDS, Instance

VERSION = "v1"
TERMINAL = frozenset({"complete", "errored", "terminated"})


@dataclass(frozen=True)
class _Process:
    """A context that is not proven stopped, and the thread that carries its questions."""

    pid: int
    channel: Channel
    carrier: threading.Thread


def _gone() -> CallError:
    return CallError("backend_unavailable", "the Host is closed, or has lost its fork server")


class Handle:
    """One instance, as its caller sees it (BND-1)."""

    def __init__(self, host: "Host", id: str) -> None:
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

    def send_event(self, type: str, payload: Mapping[str, Any] | None = None) -> None:
        """Return once the event is accepted (EVT-1)."""
        with self._host.lock:
            self._host.send_event(self._id, type, payload)

    def terminate(self, seconds: float | None = None) -> None:
        """Return once the code is stopped and an outcome is published (TRM-1); TimeoutError after
        `seconds`."""
        with self._host.lock:
            done = self._host.terminate(self._id)
        done.result(seconds)

    def wait(self, seconds: float | None = None) -> dict[str, Any]:
        """The status document once it is terminal; TimeoutError after `seconds`."""
        with self._host.lock:
            if not self._host.lock.wait_for(lambda: self.status()["status"] in TERMINAL, seconds):
                raise TimeoutError(f"instance {self._id} is {self.status()['status']} after {seconds} s")
            return self.status()


class Host(Engine):
    """Runs one workflow class until it is closed; a context manager. `env` is JSON data.

    The class itself is given, or where to find it: `CannotLoad` when it is not there.

    with Host(Report, env={"REGION": "eu"}) as host:
        report = host.start({"name": "sales"})
        print(report.wait())
    """

    def __init__(
        self,
        workflow: type | Export,
        *,
        env: Mapping[str, Any] = MappingProxyType({}),
        rules: Rules | None = None,
    ) -> None:
        super().__init__(rules)
        self.lock = threading.Condition(threading.RLock())
        export = workflow if isinstance(workflow, Export) else Export.of(workflow)
        self._class_name = export.name
        self._env = json.loads(json.dumps(dict(env)))
        self._server = ForkServer(export.module)
        if isinstance(workflow, Export):
            self._server.require(export.name)
        self._processes: dict[tuple[Key, int], _Process] = {}
        self._touched: set[Key] = set()
        self._timers: list[tuple[int, Key]] = []
        self._crashes = BackOff()
        self._timed: set[tuple[int, Key]] = set()
        self._last_instant = 0
        self._trace = Trace()
        self._watchers: list[Callable[[], None]] = []
        self._closed = False
        self._supervisor = threading.Thread(target=self._supervise, name="fencepost-supervisor", daemon=True)
        self._supervisor.start()

    def __enter__(self) -> "Host":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill every context and end; nothing is left running, and every call is rejected from now on."""
        with self.lock:
            self._closed = True
            self.lock.notify_all()
        self._supervisor.join()
        self._server.close()
        for process in self._processes.values():
            process.channel.close()
            process.carrier.join()

    def until_closed(self) -> None:
        """Return once the Host is closed, or has lost its fork server."""
        with self.lock:
            self.lock.wait_for(lambda: self._closed)

    def start(self, params: Mapping[str, Any] | None = None, id: str | None = None) -> Handle:
        """Create an instance; `CallError` with the Form's name for it when it is refused (BND-3, DOC-8)."""
        with self.lock:
            return Handle(self, self.create(id, params))

    def handle(self, id: str) -> Handle:
        """The handle of an instance that is held (BND-4)."""
        with self.lock:
            return Handle(self, self.get(id))

    # -- what there is to see ------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Everything that is held at this instant, as immutable states."""
        with self.lock:
            held = {key[1]: slot for key, slot in self.slots.items() if isinstance(slot, Instance)}
            pids = {(key[1], token): each.pid for (key, token), each in self._processes.items()}
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

    def pick_version(self) -> str:
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
        process = self._processes.pop((key, token), None)
        if process is None:
            return False
        try:
            self._server.stop(process.pid)
        finally:
            process.channel.close()
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
        for key, token in self._processes:
            self.perform(key, Renew(self.now, token, lease_until))
        return self.now + LEASE_SECONDS * MILLISECONDS // 3

    # -- contexts ----------------------------------------------------------------------------------

    def _start(self, key: Key, token: int) -> None:
        slot = self.slot(key)
        assert isinstance(slot, Instance)
        params = None if slot.params is None else slot.params.decode()
        first = {"id": slot.id, "params": params, "class": self._class_name, "env": self._env}
        pid, channel = self._server.spawn()
        carrier = threading.Thread(
            target=self._carry, args=(key, token, channel, first), name=f"fencepost-{pid}", daemon=True
        )
        self._processes[key, token] = _Process(pid, channel, carrier)
        carrier.start()

    def _carry(self, key: Key, token: int, channel: Channel, first: Mapping[str, Any]) -> None:
        """Carry a context's questions to the machine until it has to stop, or is gone."""
        try:
            channel.send(first)
            while True:
                message = channel.receive()
                with self.lock:
                    reply = self._answer(key, token, message)
                    self.lock.notify_all()
                channel.send(reply_out(reply))
        except (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError):
            self._lost(key, token)  # it died, it was stopped, or it talked nonsense

    def _answer(self, key: Key, token: int, message: Mapping[str, Any]) -> Reply:
        if self._closed or (key, token) not in self._processes:
            return Fenced()
        action: Action
        if "begin" in message:
            if message["begin"] not in ("do", "sleep", "wait"):
                raise ValueError(f"no step operation: {message['begin']!r}")
            arguments = dict(message["arguments"])
            action = BeginStep(self.now, token, message["begin"], message["name"], arguments)
        else:
            action = self.action_of(token, proposal_in(message))
        reply = self.perform(key, action)
        if isinstance(reply, Impossible):
            raise ValueError(reply.why)
        if not reply.refused and not isinstance(action, BeginStep):
            self._crashes.forget(key)
        return reply

    def _back_off(self, key: Key) -> None:
        """After a crash wait before the next context, longer each time until something is committed."""
        self._set_timer(self._crashes.crashed(key, self.now), key)

    def _lost(self, key: Key, token: int) -> None:
        with self.lock:
            try:
                if not self._closed and self._stop(key, token):
                    self._back_off(key)
                    self.perform(key, Crash(self.now, token))
            except ServerLost:
                self._closed = True
            self.lock.notify_all()
