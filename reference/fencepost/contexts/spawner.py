"""A small parent for processes of other languages: starts them, kills them, and proves that they are gone.

Run as a script, by its path and with nothing of the project imported, so that it is small and quick to fork.
It has one thread, for as long as the controller lives: the parent-death signal is sent when the *thread* that
forked ends. When the controller goes away, however it goes, the end of the control socket says so, and all
that was started is killed; when this process is killed itself, the parent-death signal does it where the
system has one (Linux). It has a session of its own, so that Ctrl-C reaches the controller alone.

| request | answer |
|---|---|
| ``{"spawn": [program, argument, ...]}``, with a descriptor, which becomes number 3 | ``{"pid"}`` |
| ``{"stop": pid}`` | ``{}``, once the process is killed and reaped |
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from typing import NoReturn

CHANNEL = 3
"""The file descriptor under which a program finds its channel."""

_CHUNK = 65_536
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_FAILED = 127


class _Spawner:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: set[int] = set()
        self._library = ctypes.CDLL(None) if sys.platform == "linux" else None

    def serve(self) -> NoReturn:
        """Answer until the controller is gone, then kill everything."""
        while True:
            text, descriptors, _, _ = socket.recv_fds(self._control, _CHUNK, 1)
            while text and not text.endswith(b"\n"):
                more = self._control.recv(_CHUNK)
                text = text + more if more else b""
            if not text:
                self._end()
            message = json.loads(text)
            answer = {}
            if "spawn" in message:
                answer["pid"] = self._fork(message["spawn"], descriptors[0])
            else:
                self._stop(message["stop"])
            self._control.sendall(json.dumps(answer).encode() + b"\n")

    def _fork(self, command: Sequence[str], descriptor: int) -> int:
        parent = os.getpid()
        pid = os.fork()
        if pid:
            os.close(descriptor)
            self._children.add(pid)
            return pid
        try:
            self._become(command, descriptor, parent)
        finally:
            os._exit(_FAILED)

    def _become(self, command: Sequence[str], descriptor: int, parent: int) -> NoReturn:
        if self._library is not None:
            self._library.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(_FAILED)  # it was gone before this process had said what to do then
        if descriptor == CHANNEL:
            os.set_inheritable(CHANNEL, True)
        else:
            os.dup2(descriptor, CHANNEL)
        os.execve(command[0], list(command), {})

    def _stop(self, pid: int) -> None:
        if pid in self._children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self._children.discard(pid)

    def _end(self) -> NoReturn:
        for pid in list(self._children):
            self._stop(pid)
        os._exit(0)


if __name__ == "__main__":
    _Spawner(socket.socket(fileno=int(sys.argv[1]))).serve()
