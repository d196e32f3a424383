"""Fresh processes for contexts, quickly: a server evaluates the application's module once, and forks for
each context.

A fork has the module as it was evaluated, untouched by any context, so state is fresh (CTX-1) at the
price of a fork. The server is the parent of every context and so the one that can *prove* a stop:
`stop` kills with SIGKILL and answers once the process is reaped. When the controlling process goes away
the server kills all that it forked; where the system offers it (Linux), a context also dies with the
server. The server has a session of its own, so that Ctrl-C reaches the controller alone.
"""

import contextlib
import ctypes
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from fencepost.contexts.wire import Channel

_MAXIMUM_MESSAGE_BYTES = 65_536
_PROGRAM = "from fencepost.contexts import forkserver; forkserver.main()"
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_PATIENCE_SECONDS = 10.0  # for a server to end by itself

_evaluating = False
"""Whether this process is a fork server that evaluates the application's module just now."""


@dataclass(frozen=True)
class Module:
    """Where the application's code is: an importable module, or a file."""

    name: str | None = None
    path: str | None = None

    def evaluate(self) -> Mapping[str, Any]:
        """Evaluate it, and return what it exports."""
        if self.path is not None:
            sys.path.insert(0, str(Path(self.path).parent))
            return runpy.run_path(self.path, run_name="__fencepost__")
        return vars(importlib.import_module(self.name or ""))

    @staticmethod
    def of(definer: type) -> "Module":
        """Where a class was defined; a program that is run as a script is found by its file."""
        if "." in definer.__qualname__:
            raise ValueError(
                f"define {definer.__qualname__} at the top of a module, where a process can find it"
            )
        if definer.__module__ != "__main__":
            return Module(name=definer.__module__)
        main: ModuleType = sys.modules["__main__"]
        if getattr(main, "__spec__", None) is not None:
            return Module(name=main.__spec__.name)  # type: ignore[union-attr]
        path = getattr(main, "__file__", None)
        if path is None or not Path(path).is_file():
            raise ValueError(
                f"define {definer.__qualname__} in a module: a prompt has none that a process could load"
            )
        return Module(path=str(Path(path).resolve()))


@dataclass(frozen=True)
class Export:
    """A workflow class, by its module and its name in there."""

    module: Module
    name: str

    @staticmethod
    def of(definer: type) -> "Export":
        """Where this class is to be found."""
        return Export(Module.of(definer), definer.__qualname__)


class CannotLoad(ValueError):
    """There is no such class to run: one line that says what there is instead."""


class ServerLost(ConnectionError):
    """The fork server is gone, and every context with it."""


class ForkServer:
    """The controller's end; any thread may call it."""

    def __init__(self, module: Module) -> None:
        if _evaluating:
            raise RuntimeError(
                "make the Host under `if __name__ == '__main__':`, since contexts load this file too"
            )
        ours, theirs = socket.socketpair()
        self._control = ours
        self._lock = threading.Lock()
        self._answers = ours.makefile("rb")
        self._process = self._start(theirs.fileno())
        theirs.close()
        try:
            self._loaded = self._ask({"name": module.name, "path": module.path})
        except BaseException:  # also an interrupt, while the module is evaluated
            self._process.kill()
            self.close()
            raise

    def _start(self, descriptor: int) -> Any:
        """Start the server, with a session of its own, on a socket; gives what can be waited for."""
        search = [entry or os.getcwd() for entry in sys.path]
        return subprocess.Popen(
            [sys.executable, "-u", "-c", _PROGRAM, str(descriptor)],
            pass_fds=[descriptor],
            stdin=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(search)},
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The process id of the server itself."""
        pid: int = self._process.pid
        return pid

    def require(self, name: str) -> None:
        """Close, and raise `CannotLoad`, if the module has no workflow class of this name (ABI-5)."""
        error, classes = self._loaded["error"], self._loaded["classes"]
        if error is None and name in classes:
            return
        self.close()
        if error is not None:
            raise CannotLoad(f"the module cannot be evaluated: {error}")
        offered = f"it has {', '.join(classes)}" if classes else "it has no class with a method run"
        raise CannotLoad(f"the module has no workflow class {name}; {offered}")

    def spawn(self) -> tuple[int, Channel]:
        """Fork a context; its process id and the channel to it."""
        ours, theirs = socket.socketpair()
        try:
            answer = self._ask({"spawn": True}, theirs)
        except ServerLost:
            ours.close()
            raise
        finally:
            theirs.close()
        return int(answer["pid"]), Channel(ours)

    def stop(self, pid: int) -> None:
        """Kill a context; when this returns it is reaped (PUB-1, TRM-1)."""
        self._ask({"stop": pid})

    def close(self) -> None:
        """Kill every context and end the server."""
        self._answers.close()
        self._control.close()
        try:
            self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:  # frozen: where there is a parent-death signal, contexts go with it
            self._process.kill()
            self._process.wait()

    def _ask(self, message: Mapping[str, Any], passed: socket.socket | None = None) -> dict[str, Any]:
        text = [json.dumps(message).encode()]
        try:
            with self._lock:
                socket.send_fds(self._control, text, [passed.fileno()] if passed is not None else [])
                line = self._answers.readline()
        except (OSError, ValueError) as error:  # or closed by us
            raise ServerLost("the fork server is gone") from error
        if not line:
            raise ServerLost("the fork server is gone")
        answer: dict[str, Any] = json.loads(line)
        return answer


class _Server:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: set[int] = set()
        self._exports: Mapping[str, Any] = {}
        self._error: BaseException | None = None

    def serve(self) -> NoReturn:
        """Answer until the controller is gone, then kill everything."""
        importlib.import_module("fencepost.contexts.child")  # once, instead of in every context
        waker, woken = socket.socketpair()
        waker.setblocking(False)
        woken.setblocking(False)
        signal.set_wakeup_fd(woken.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(waker, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is waker:
                        self._reap(waker)
                    elif not self._answer():
                        self._end()

    def _answer(self) -> bool:
        text, descriptors, _, _ = socket.recv_fds(self._control, _MAXIMUM_MESSAGE_BYTES, 1)
        if not text:
            return False
        message = json.loads(text)
        answer: dict[str, Any] = {}
        if "spawn" in message:
            answer["pid"] = self._fork(descriptors[0])
        elif "stop" in message:
            self._stop(message["stop"])
        else:
            self._evaluate(Module(message["name"], message["path"]))
            error = None if self._error is None else _line(self._error)
            answer = {"error": error, "classes": sorted(_workflow_classes(self._exports))}
        self._control.sendall(json.dumps(answer).encode() + b"\n")
        return True

    def _evaluate(self, module: Module) -> None:
        global _evaluating
        _evaluating = True
        try:
            self._exports = module.evaluate()
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            self._error = error
        finally:
            _evaluating = False

    def _load(self) -> Mapping[str, Any]:
        if self._error is not None:
            raise self._error  # ABI-5
        return self._exports

    def _fork(self, descriptor: int) -> int:
        server = os.getpid()
        pid = os.fork()
        if pid:
            os.close(descriptor)
            _lead_group(pid)
            self._children.add(pid)
            return pid
        try:
            self._become_context(descriptor, server)
        finally:
            os._exit(1)

    def _become_context(self, descriptor: int, server: int) -> NoReturn:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != server:
                os._exit(1)  # it was gone before this process had said what to do then
        from fencepost.contexts import child

        _lead_group(0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._control.close()
        child.main(socket.socket(fileno=descriptor), self._load)

    def _stop(self, pid: int) -> None:
        if pid in self._children:
            _kill_group(pid)
            os.waitpid(pid, 0)
            self._children.discard(pid)

    def _reap(self, waker: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            waker.recv(_MAXIMUM_MESSAGE_BYTES)
        for pid in list(self._children):
            if os.waitpid(pid, os.WNOHANG) != (0, 0):
                _kill_group(pid)
                self._children.discard(pid)

    def _end(self) -> NoReturn:
        for pid in list(self._children):
            self._stop(pid)
        os._exit(0)


def _line(error: BaseException) -> str:
    """An error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def _workflow_classes(exports: Mapping[str, Any]) -> list[str]:
    """The names of what could be workflow classes."""
    classes = [(name, value) for name, value in exports.items() if isinstance(value, type)]
    return [name for name, value in classes if any("run" in vars(base) for base in value.__mro__)]


def _lead_group(pid: int) -> None:
    """A context leads a process group, so that what its effects start ends with it."""
    with contextlib.suppress(OSError):  # parent and child both say so, and the second may come too late
        os.setpgid(pid, pid)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def serve(descriptor: int) -> NoReturn:
    """Be a fork server, on the socket with this descriptor."""
    _Server(socket.socket(fileno=descriptor)).serve()


def main() -> NoReturn:
    """Serve on the socket whose descriptor is the first argument."""
    serve(int(sys.argv[1]))
