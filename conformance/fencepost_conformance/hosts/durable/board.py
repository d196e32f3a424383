"""The kit's end: what contexts report arrives here, and the worker is steered from here.

Every process connects to one socket and says what it is. A context asks, and is answered at once or when the
kit has something for it; meanwhile it *stands*. A worker answers what it is asked.
"""

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fencepost.contexts.wire import Channel
from fencepost.host.instruments import Traps

from ...adapter import AdapterFault
from ...journal import Journal

_PATIENCE_SECONDS = 60.0
_LOOK_SECONDS = 0.1


class Board:
    """Listens until it is closed. `call` makes a caller's call of an instance itself."""

    def __init__(self, path: Path, call: Callable[[str, str], None]) -> None:
        self.path = str(path)
        self.changed = threading.Condition()
        self.standing: dict[int, str] = {}
        self.traps = Traps()
        self.ticking: set[int] = set()
        self.on_freeze: Callable[[int], None] = lambda pid: None
        self.stuck: set[str] = set()
        self._call = call
        self._journal = Journal()
        self._ticks = 0
        self._floating: set[int] = set()
        self._worker: Channel | None = None
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(self.path)
        self._listening.listen(64)
        self._threads = [threading.Thread(target=self._accept, name="fencepost-board", daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        """Listen no more, once everybody is gone."""
        self.begin(Journal())
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join(_PATIENCE_SECONDS)

    def begin(self, journal: Journal) -> None:
        """Reports are for this journal from now on."""
        with self.changed:
            self._journal, self.traps = journal, Traps()
            self.standing.clear()
            self.ticking.clear()
            self._floating.clear()
            self._ticks += 1
            self.changed.notify_all()  # whoever still stands here is over
            self.stuck.clear()

    def let_run(self, tick: bool) -> None:
        """Answer those whose gate was released, and floating timers once."""
        with self.changed:
            if tick:
                self._ticks += 1
                self.ticking |= self._floating
                self._floating.clear()
            for pid, place in list(self.standing.items()):
                if (place == "tick" and tick) or (place[:5] == "gate:" and self._journal.is_open(place[5:])):
                    del self.standing[pid]
            self.changed.notify_all()

    # -- contexts ----------------------------------------------------------------------------------

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connected, _ = self._listening.accept()
                thread = threading.Thread(target=self._hear, args=(Channel(connected),), daemon=True)
                self._threads = [each for each in self._threads if each.is_alive()] + [thread]
                thread.start()

    def _hear(self, channel: Channel) -> None:
        pid = 0
        try:
            hello = channel.receive()
            if "worker" in hello:
                with self.changed:
                    self._worker = channel
                    self.changed.notify_all()
                return
            pid = int(hello["context"])
            channel.send({})
            while True:
                channel.send(self._answer(pid, channel.receive()))
        except (OSError, EOFError, ValueError):
            with self.changed:
                self.standing.pop(pid, None)
            channel.close()

    def _answer(self, pid: int, question: dict[str, Any]) -> dict[str, Any]:
        with self.changed:
            return _REPORTS[question["report"]](self, pid, question) or {}

    def _run(self, pid: int, question: dict[str, Any]) -> None:
        self._journal.run(question["instance"])

    def _mark(self, pid: int, question: dict[str, Any]) -> None:
        self._journal.mark(question["label"])

    def _start(self, pid: int, question: dict[str, Any]) -> dict[str, Any]:
        instance, name = question["instance"], question["name"]
        execution = self._journal.count_start(instance, name)
        deed = self.traps.spring(instance, "effect-start", name)
        if deed == "kill" and instance not in self.stuck:
            os.kill(pid, signal.SIGKILL)
        elif deed == "pause":
            os.kill(pid, signal.SIGSTOP)
            self.on_freeze(pid)
        return {"execution": execution}

    def _end(self, pid: int, question: dict[str, Any]) -> None:
        self._journal.count_end(question["instance"], question["name"])

    def _gate(self, pid: int, question: dict[str, Any]) -> None:
        if not self._journal.is_open(question["name"]):
            self._stand(pid, f"gate:{question['name']}")

    def _tick(self, pid: int, question: dict[str, Any]) -> None:
        self._stand(pid, "tick")

    def _float(self, pid: int, question: dict[str, Any]) -> None:
        """A timer beside the run: its context is at rest, and is not when the timer has fired."""
        ticks = self._ticks
        self.ticking.discard(pid)
        self._floating.add(pid)
        self.changed.wait_for(lambda: self._ticks != ticks)

    def _spin(self, pid: int, question: dict[str, Any]) -> None:
        self.standing[pid] = "spin"

    def _own_call(self, pid: int, question: dict[str, Any]) -> None:
        self._call(question["call"], question["instance"])
        self._stand(pid, "call")  # it does not live to see the answer

    def _stand(self, pid: int, place: str) -> None:
        self.standing[pid] = place
        self.changed.wait_for(lambda: self.standing.get(pid) != place)

    # -- the worker --------------------------------------------------------------------------------

    def await_worker(self, alive: Callable[[], bool]) -> Channel:
        """The channel of the worker that connects next."""
        given_up = time.monotonic() + _PATIENCE_SECONDS
        with self.changed:
            while self._worker is None:
                if not alive():
                    raise AdapterFault("the worker ended before it came up")
                if time.monotonic() > given_up:
                    raise AdapterFault("the worker did not come up in time")
                self.changed.wait(_LOOK_SECONDS)
            worker, self._worker = self._worker, None
        return worker


_REPORTS: dict[str, Callable[[Board, int, dict[str, Any]], dict[str, Any] | None]] = {
    "run": Board._run,
    "mark": Board._mark,
    "start": Board._start,
    "end": Board._end,
    "gate": Board._gate,
    "tick": Board._tick,
    "float": Board._float,
    "spin": Board._spin,
    "call": Board._own_call,
}
