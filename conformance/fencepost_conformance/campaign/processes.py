"""Who runs, kills and pauses workers and the API process, each in a slot whose place is always taken again.

A slot has a thread, which draws what is to happen, starts a process, waits for it, and counts. When the
campaign calms down a slot keeps one process, to which nothing happens any more.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..adapter import AdapterFault
from ..host_api import DISCOVERY, exchange
from . import plans
from .plans import Deed

PROCESSES = multiprocessing.get_context("forkserver")
_PRELOADED = ["fencepost_conformance.campaign.worker", "fencepost_conformance.campaign.api"]
_GUARD = threading.Lock()
"""Whoever asks for an exit code, or starts a process, reads the same pipes: one at a time."""

LOST = 3
"""How a worker ends that others have taken for dead, and whose contexts they have ended."""

_LOOK_SECONDS = 0.01
_END_SECONDS = 20.0
_UP_SECONDS = 60.0


def prepare() -> None:
    """Have everything imported once, where processes are forked from."""
    PROCESSES.set_forkserver_preload(["fencepost_conformance.campaign.probe", *_PRELOADED])


@dataclass
class Tally:
    """What was done to processes, and what they did by themselves."""

    kills: Counter[str] = field(default_factory=Counter)
    pauses: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)  # what ended by itself, and how
    ended: int = 0  # workers that found their contexts ended by another, because they had stood still

    @property
    def killed(self) -> int:
        """How many processes were killed."""
        return sum(self.kills.values())


class Slot:
    """A place for one process at a time. From `calm` on nothing happens to it; at `over` it ends."""

    kind = ""

    def __init__(self, number: int, tally: Tally, calm: threading.Event, over: threading.Event) -> None:
        self.number, self.tally, self.calm, self.over = number, tally, calm, over
        self.process: Any = None
        self._lives = 0
        self._thread = threading.Thread(target=self._run, name=f"{self.kind}-{number}", daemon=True)

    @property
    def exit_code(self) -> int | None:
        """How the process has ended, None while it runs."""
        with _GUARD:
            code: int | None = self.process.exitcode
            return code

    def await_end(self, seconds: float = _END_SECONDS) -> None:
        """Return once the process has ended, or after so many seconds."""
        limit = time.monotonic() + seconds
        while self.exit_code is None and time.monotonic() < limit:
            time.sleep(_LOOK_SECONDS)

    def begin(self) -> None:
        """Take the place."""
        self._thread.start()

    def join(self) -> None:
        """Return once nothing runs here."""
        self._thread.join()

    def start(self, deeds: Sequence[Deed]) -> Any:
        """Start a process that does these things to itself, where it can."""
        raise NotImplementedError

    def await_up(self) -> None:
        """Return once the process does its work."""

    def draw(self) -> tuple[Deed, ...]:
        """What is to happen to the next process."""
        raise NotImplementedError

    def rest(self) -> float:
        """For how many seconds the place stays empty."""
        return 0.0

    def pause(self) -> float:
        """For how many seconds the present process stands still."""
        return 0.0

    # -- the thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self.over.is_set():
            self._lives += 1
            deeds = () if self.calm.is_set() else self.draw()
            self.process = self.start(deeds)
            try:
                self.await_up()
                self._go_through(deeds)
                self._end()
            finally:
                self.process.kill()
                self.await_end()
            self.over.wait(0.0 if self.calm.is_set() else self.rest())

    def _go_through(self, deeds: Sequence[Deed]) -> None:
        """Have everything happen, in order."""
        for deed in deeds:
            at_point = self._await(deed)
            if self.exit_code is None and self.calm.is_set():
                return
            label = deed.point if at_point or deed.point not in plans.POINTS else plans.RANDOM
            if deed.what == "pause":
                self._stand_still(label)
            elif self._killed(at_point):
                self.tally.kills[label] += 1

    def _await(self, deed: Deed) -> bool:
        """Wait until it happens by itself, or until its time has come; whether it has happened."""
        limit = time.monotonic() + deed.seconds
        while time.monotonic() < limit and not self.calm.is_set():
            if (code := self.exit_code) is not None:
                return code == -signal.SIGKILL
            if deed.what == "pause" and _state(self.process.pid) == "T":
                return True
            time.sleep(_LOOK_SECONDS)
        return False

    def _killed(self, already: bool) -> bool:
        if not already and self.exit_code is None:
            self.process.kill()
            self.await_end()
        return self.exit_code == -signal.SIGKILL

    def _stand_still(self, label: str) -> None:
        if self.exit_code is not None:
            return
        os.kill(self.process.pid, signal.SIGSTOP)
        time.sleep(self.pause())
        os.kill(self.process.pid, signal.SIGCONT)
        self.tally.pauses[label] += 1

    def _go_on(self) -> None:
        """Let a process go on that has come by a point at which it was to stand still, later than awaited."""
        if _state(self.process.pid) == "T":
            os.kill(self.process.pid, signal.SIGCONT)

    def _end(self) -> None:
        """Keep what is left alive until the end, and see how it ends."""
        while not self.over.is_set() and self.exit_code is None and self.calm.is_set():
            self._go_on()
            self.over.wait(_LOOK_SECONDS)
        if self.exit_code is None:
            self.process.terminate()
            self._go_on()
            self.await_end()
        code = self.exit_code
        if code == LOST:
            self.tally.ended += 1
        elif code is None:
            self.tally.broken.append(f"{self.kind} {self.number} does not end")
        elif code not in (0, -signal.SIGKILL) or (code == 0 and not self.over.is_set()):
            self.tally.broken.append(f"{self.kind} {self.number} ended by itself, with {code}")


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


class WorkerSlot(Slot):
    """A worker; `work` gives the arguments of one by its name and what is to happen to it."""

    kind = "worker"

    def __init__(
        self,
        *place: Any,
        seed: int,
        lease: float,
        pauses: bool,
        work: Callable[[str, Sequence[Deed]], tuple[Any, ...]],
    ) -> None:
        super().__init__(*place)
        self._seed, self._lease, self._pauses, self._work = seed, lease, pauses, work

    def start(self, deeds: Sequence[Deed]) -> Any:
        """A worker process."""
        from . import worker

        name = f"worker-{self.number}.{self._lives}"
        process = PROCESSES.Process(target=worker.work, args=self._work(name, deeds), name=name, daemon=True)
        with _GUARD:
            process.start()
        return process

    def draw(self) -> tuple[Deed, ...]:
        """From the seed."""
        return plans.deeds(self._seed, self.number, self._lives, self._lease, self._pauses)

    def rest(self) -> float:
        """From the seed."""
        return plans.rest_seconds(self._seed, self.number, self._lives, self._lease)

    def pause(self) -> float:
        """From the seed."""
        return plans.pause_seconds(self._seed, self.number, self._lives, self._lease)


class ApiSlot(Slot):
    """The API process; it is only killed, and sometimes while a call is on its way."""

    kind = "api"

    def __init__(
        self, *place: Any, seed: int, serve: tuple[str, str, int, str], calling: threading.Event
    ) -> None:
        super().__init__(*place)
        self._seed, self._serve, self._calling = seed, serve, calling
        self.url = f"http://127.0.0.1:{serve[2]}"

    def start(self, deeds: Sequence[Deed]) -> Any:
        """The process of the Host API."""
        from . import api

        process = PROCESSES.Process(target=api.serve, args=self._serve, name="api", daemon=True)
        with _GUARD:
            process.start()
        return process

    def await_up(self) -> None:
        """Return once it answers, or has ended."""
        limit = time.monotonic() + _UP_SECONDS
        while self.exit_code is None and time.monotonic() < limit:
            try:
                if exchange(self.url + DISCOVERY, "GET", {}, seconds=1.0).status == 200:
                    return
            except AdapterFault:
                time.sleep(5 * _LOOK_SECONDS)

    def draw(self) -> tuple[Deed, ...]:
        """From the seed."""
        return (plans.api_deed(self._seed, self._lives),)

    def _await(self, deed: Deed) -> bool:
        if deed.point == plans.IN_A_CALL:
            self._calling.clear()
            while not (self._calling.wait(_LOOK_SECONDS) or self.calm.is_set()):
                pass
        return super()._await(deed)
