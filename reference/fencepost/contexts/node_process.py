"""Processes of Node for contexts: a pool of prepared ones, each used once, and a stop that is proven.

A process is started by the spawner, loads the runtime, and waits; what it is to be comes with the first
message. It only ever asks, one line of JSON at a time, and stands in a read until it is answered. Starting
takes tens of milliseconds and killing takes two, so a few idle ones are kept ready, which hides the start
from whoever needs a context; it makes none of them cheaper.

What a child writes is data of an untrusted origin. `receive` gives it up to a length and as an object, and
`ProcessLost` is all that a child can bring about otherwise: it died, or it talked nonsense.
"""

import atexit
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import IO, Any

from fencepost_spec.limits import FORM

from fencepost.contexts.node_tools import node

RUNTIME = Path(__file__).with_name("javascript")
"""The folder of the runtime, and all of the disk that a context may read."""

COMPUTING_SECONDS = 1.0
"""Processor time after which code that does not come back counts as computing without end."""

SILENT_SECONDS = 60.0
"""Real time after which a child that uses no processor time counts as computing without end too."""

HEAP_MEGABYTES = 256
IDLE = 2

_SPAWNER = Path(__file__).with_name("spawner.py")
_LOOK_SECONDS = 0.02
_WRITE_SECONDS = 30.0
_CHUNK = 1 << 16
_LONGEST_LINE = 8 * FORM.document_bytes  # a document with every character escaped, and room around it


class ProcessLost(ConnectionError):
    """The process is gone, or is not to be believed."""


class Spawner:
    """The controller's end of the process that starts, kills and reaps; its methods may be called by any
    thread."""

    def __init__(self, log: IO[Any] | int | None = None) -> None:
        ours, theirs = socket.socketpair()
        self._lock = threading.Lock()
        self._control, self._answers = ours, ours.makefile("rb")
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_SPAWNER), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        finally:
            theirs.close()
        self.close = weakref.finalize(self, _close, self._process, self._control, self._answers)

    @property
    def pid(self) -> int:
        """The process id of the spawner itself."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether it is gone, and with it all that it has started."""
        return self._process.poll() is not None

    def spawn(self, command: list[str]) -> tuple[int, socket.socket]:
        """Start a program; its process id, and our end of its channel. Raises ProcessLost."""
        ours, theirs = socket.socketpair()
        try:
            answer = self._ask({"spawn": command}, theirs)
        except ProcessLost:
            ours.close()
            raise
        finally:
            theirs.close()
        return int(answer["pid"]), ours

    def stop(self, pid: int) -> None:
        """Kill a process; when this returns it is reaped (PUB-1, TRM-1). Raises ProcessLost."""
        self._ask({"stop": pid})

    def _ask(self, message: Mapping[str, Any], passed: socket.socket | None = None) -> dict[str, Any]:
        with self._lock:
            try:
                text = [json.dumps(message).encode() + b"\n"]
                socket.send_fds(self._control, text, [passed.fileno()] if passed is not None else [])
                line = self._answers.readline()
            except (OSError, ValueError) as error:
                raise ProcessLost("the spawner of Node is gone") from error
        if not line:
            raise ProcessLost("the spawner of Node is gone")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _close(process: "subprocess.Popen[bytes]", control: socket.socket, answers: IO[bytes]) -> None:
    answers.close()
    control.close()
    process.wait()


class NodeProcess:
    """One process: lines to it and from it, and its end. Used by one thread at a time, but for `stop`."""

    def __init__(self, spawner: Spawner, heap_megabytes: int = HEAP_MEGABYTES) -> None:
        self._spawner = spawner
        self.pid, self._socket = spawner.spawn(_command(heap_megabytes))
        self._socket.setblocking(False)
        self._buffer = bytearray()
        self._stopping = threading.Lock()
        self._stopped = False
        self.ready = False

    def prepare(self) -> None:
        """Return once the runtime is loaded. Raises ProcessLost."""
        if not self.ready:
            if self.receive(computing=SILENT_SECONDS) != {"ready": True}:
                raise ProcessLost(f"process {self.pid} of Node did not come up")
            self.ready = True

    def send(self, message: Mapping[str, Any]) -> None:
        """Write one line; the child reads whenever it has asked. Raises ProcessLost."""
        line = memoryview(json.dumps(message).encode() + b"\n")
        limit = time.monotonic() + _WRITE_SECONDS
        try:
            while line:
                if _wait(self._socket, select.POLLOUT, _LOOK_SECONDS):
                    line = line[self._socket.send(line) :]
                elif time.monotonic() > limit:
                    raise ProcessLost(f"process {self.pid} of Node does not read")
        except (OSError, ValueError) as error:
            raise ProcessLost(f"process {self.pid} of Node is gone") from error

    def receive(self, patience: float | None = None, computing: float | None = None) -> dict[str, Any] | None:
        """The next message, or None: it has computed on for `computing` seconds of processor time, or
        `patience` seconds have passed. Raises ProcessLost."""
        limit = COMPUTING_SECONDS if computing is None else computing
        silent = time.monotonic() + (SILENT_SECONDS if patience is None else patience)
        used: float | None = None
        try:
            while b"\n" not in self._buffer:
                if len(self._buffer) > _LONGEST_LINE:
                    raise ProcessLost(f"process {self.pid} of Node does not end its line")
                if not _wait(self._socket, select.POLLIN, 0.0 if patience == 0.0 else _LOOK_SECONDS):
                    now = self.processor_seconds()
                    used = now if used is None else used
                    if now - used >= limit or time.monotonic() >= silent:
                        return None
                    continue
                chunk = self._socket.recv(_CHUNK)
                if not chunk:
                    raise ProcessLost(f"process {self.pid} of Node ended")
                self._buffer += chunk
            line, _, rest = self._buffer.partition(b"\n")
            self._buffer = bytearray(rest)
            message = json.loads(line)
        except (OSError, ValueError, RecursionError) as error:
            raise ProcessLost(f"process {self.pid} of Node is gone, or talks nonsense") from error
        if not isinstance(message, dict):
            raise ProcessLost(f"process {self.pid} of Node talks nonsense")
        return message

    def check(self) -> None:
        """Raise ProcessLost where it has ended, or speaks although it is not its turn."""
        if self._buffer or _wait(self._socket, select.POLLIN, 0.0):
            raise ProcessLost(f"process {self.pid} of Node is gone, or talks out of turn")

    def stop(self) -> None:
        """Kill it; when this returns it is reaped. May be called twice, and by another thread."""
        with self._stopping:
            if not self._stopped:
                try:
                    self._spawner.stop(self.pid)
                    self._stopped = True
                finally:
                    self._socket.close()

    def forget(self) -> None:
        """Let go of a process that went with its spawner."""
        with self._stopping:
            self._stopped = True
            self._socket.close()

    def processor_seconds(self) -> float:
        """What it has computed so far; where the system does not say, the time on the wall."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_bytes()
        except OSError:
            return time.monotonic()
        user, system = stat.rpartition(b")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Pool:
    """Prepared processes: `take` gives one and has another started in its place. For any thread."""

    def __init__(self, idle: int = IDLE, *, log: IO[Any] | int | None = subprocess.DEVNULL) -> None:
        self._idle_count = idle
        self._log = log
        self._lock = threading.Lock()
        self._idle: deque[NodeProcess] = deque()
        self._spawner: Spawner | None = None

    def take(self) -> NodeProcess:
        """A process that nobody has used; raises ProcessLost, or NodeMissing."""
        with self._lock:
            if self._spawner is None:
                self._spawner = Spawner(self._log)
            taken = self._idle.popleft() if self._idle else NodeProcess(self._spawner)
            try:
                while len(self._idle) < self._idle_count:
                    self._idle.append(NodeProcess(self._spawner))
            except ProcessLost:
                self._idle.append(taken)
                raise
        try:
            taken.prepare()
        except ProcessLost:
            taken.stop()
            raise
        return taken

    @property
    def session(self) -> int:
        """The session of all processes: the id of what starts them, which is started if need be."""
        with self._lock:
            if self._spawner is None:
                self._spawner = Spawner(self._log)
            return self._spawner.pid

    @property
    def lost(self) -> bool:
        """Whether what starts processes is gone, so that there will be none any more."""
        with self._lock:
            return self._spawner is not None and self._spawner.ended

    def warm(self) -> None:
        """Have the idle ones started, and wait until they are ready."""
        self.put_back(self.take())
        with self._lock:
            for process in self._idle:
                process.prepare()

    def put_back(self, unused: NodeProcess) -> None:
        """Return one that was taken and never told what to be."""
        with self._lock:
            self._idle.appendleft(unused)

    def close(self) -> None:
        """Kill the idle ones, and everything that was started and is not stopped yet."""
        with self._lock:
            if self._spawner is not None:
                self._spawner.close()
                self._spawner = None
            while self._idle:
                self._idle.pop().forget()


@cache
def shared_pool() -> Pool:
    """The pool of this process, for whoever brings none of its own; ends with the process."""
    pool = Pool()
    atexit.register(pool.close)
    return pool


def _command(heap_megabytes: int) -> list[str]:
    return [
        str(node()),
        "--no-warnings",
        "--experimental-vm-modules",
        "--permission",
        f"--allow-fs-read={RUNTIME}",
        "--no-addons",
        "--unhandled-rejections=none",
        f"--max-old-space-size={heap_megabytes}",
        str(RUNTIME / "main.mjs"),
        "3",
    ]


def _wait(connected: socket.socket, event: int, seconds: float) -> bool:
    """Whether a socket is ready for reading or writing, within so many seconds."""
    poll = select.poll()
    poll.register(connected, event)
    return bool(poll.poll(seconds * 1000))


__all__ = ["NodeProcess", "Pool", "ProcessLost", "Spawner", "shared_pool"]
