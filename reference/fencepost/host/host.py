"""The reference Host as a library: one workflow class, the real clock, memory for a store, a process for
each context.

One thread supervises: it does what the machine has enabled, for the instances that something happened
to, and sleeps until the next deadline. One thread a context carries its questions to the machine. A
stop is a kill that the fork server has confirmed, so whatever the application's code is doing,
`sleeping`, `waiting` and terminal statuses appear only after it.

What this Host promises ends with its process: the store is memory.
"""

import heapq
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fencepost.contexts.forkserver import ForkServer, Module
from fencepost.contexts.wire import Channel, proposal_in, reply_out
from fencepost.host.engine import LEASE_SECONDS, Engine, Key
from fencepost.machine import Rules, Transition, next_instant
from fencepost.machine.actions import Action, BeginStep, Claim, Crash, Renew
from fencepost.machine.replies import Fenced, Reply
from fencepost.machine.state import MILLISECONDS, Instance

VERSION = "v1"
TERMINAL = frozenset({"complete", "errored", "terminated"})


@dataclass(frozen=True)
class _Process:
    """A context that is not proven stopped."""

    key: Key
    token: int
    pid: int
    channel: Channel


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
    """Runs one workflow class until it is closed; a context manager.

    with Host(Report, env={"REGION": "eu"}) as host:
        report = host.start({"name": "sales"})
        print(report.wait())
    """

    def __init__(
        self, workflow: type, *, env: Mapping[str, Any] = MappingProxyType({}), rules: Rules | None = None
    ) -> None:
        super().__init__(rules)
        self.lock = threading.Condition(threading.RLock())
        self._class_name = workflow.__qualname__
        self._env = dict(env)
        self._server = ForkServer(Module.of(workflow))
        self._processes: dict[tuple[Key, int], _Process] = {}
        self._touched: set[Key] = set()
        self._timers: list[tuple[int, Key]] = []
        self._last_instant = 0
        self._closed = False
        self._supervisor = threading.Thread(target=self._supervise, name="fencepost-supervisor", daemon=True)
        self._supervisor.start()

    def __enter__(self) -> "Host":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill every context and end; nothing is left running."""
        with self.lock:
            self._closed = True
            self.lock.notify_all()
        self._supervisor.join()
        self._server.close()
        for process in self._processes.values():
            process.channel.close()

    def start(self, params: Mapping[str, Any] | None = None, id: str | None = None) -> Handle:
        """Create an instance; `CallError` with the Form's name for it when it is refused (BND-3, DOC-8)."""
        with self.lock:
            return Handle(self, self.create(id, params))

    def handle(self, id: str) -> Handle:
        """The handle of an instance that is held (BND-4)."""
        with self.lock:
            return Handle(self, self.get(id))

    # -- what an engine asks of its Host -----------------------------------------------------------

    @property
    def now(self) -> int:
        """Milliseconds since 1970, never going back."""
        self._last_instant = max(self._last_instant, time.time_ns() // 1_000_000)
        return self._last_instant

    def run(self) -> None:
        """Let the supervisor look."""
        self.lock.notify_all()

    def note(self, key: Key, action: Action, transition: Transition) -> None:
        """Remember which instance to look at."""
        self._touched.add(key)

    def pick_version(self) -> str:
        """There is one Version."""
        return VERSION

    def can_stop(self, key: Key, token: int) -> bool:
        """Kill it, and return once it is reaped."""
        process = self._processes.pop((key, token), None)
        if process is not None:
            self._server.stop(process.pid)
            process.channel.close()
        return True

    # -- the supervisor ----------------------------------------------------------------------------

    def _supervise(self) -> None:
        renewal = self.now + LEASE_SECONDS * MILLISECONDS // 3
        with self.lock:
            while not self._closed:
                while self._touched:
                    self._look_at(self._touched.pop())
                self.lock.notify_all()
                if self.now >= renewal:
                    renewal = self._renew()
                self._wait_until(min(renewal, self._timers[0][0]) if self._timers else renewal)
                while self._timers and self._timers[0][0] <= self.now:
                    self._touched.add(heapq.heappop(self._timers)[1])

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
            heapq.heappush(self._timers, (instant, key))

    def _renew(self) -> int:
        lease_until = self.now + LEASE_SECONDS * MILLISECONDS
        for process in list(self._processes.values()):
            self.perform(process.key, Renew(self.now, process.token, lease_until))
        return self.now + LEASE_SECONDS * MILLISECONDS // 3

    # -- contexts ----------------------------------------------------------------------------------

    def _start(self, key: Key, token: int) -> None:
        slot = self.slot(key)
        assert isinstance(slot, Instance)
        pid, channel = self._server.spawn()
        process = self._processes[key, token] = _Process(key, token, pid, channel)
        params = None if slot.params is None else slot.params.decode()
        channel.send({"id": slot.id, "params": params, "class": self._class_name, "env": self._env})
        threading.Thread(target=self._serve, args=(process,), name=f"fencepost-{pid}", daemon=True).start()

    def _serve(self, process: _Process) -> None:
        """Carry a context's questions to the machine until it has to stop, or is gone."""
        try:
            while True:
                message = process.channel.receive()
                with self.lock:
                    reply = self._answer(process, message)
                    self.lock.notify_all()
                process.channel.send(reply_out(reply))
        except (OSError, EOFError, ValueError, KeyError, TypeError):
            self._lost(process)  # it died, it was stopped, or it talked nonsense

    def _answer(self, process: _Process, message: Mapping[str, Any]) -> Reply:
        if (process.key, process.token) not in self._processes:
            return Fenced()
        if "begin" in message:
            if message["begin"] not in ("do", "sleep", "wait"):
                raise ValueError(f"no step operation: {message['begin']!r}")
            arguments = dict(message["arguments"])
            step = BeginStep(self.now, process.token, message["begin"], message["name"], arguments)
            return self.perform(process.key, step)
        return self.perform(process.key, self.action_of(process.token, proposal_in(message)))

    def _lost(self, process: _Process) -> None:
        with self.lock:
            if self._closed or (process.key, process.token) not in self._processes:
                return
            self.can_stop(process.key, process.token)
            self.perform(process.key, Crash(self.now, process.token))
            self.lock.notify_all()
