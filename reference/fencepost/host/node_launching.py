"""How contexts in JavaScript are run under the real clock, whoever keeps the instances: as processes of Node.

The thread of a context gives its process a turn whenever there is something to do: an answer that has come, a
timer that is due, a reply of the machine. Between turns the process stands still. A context that has to stop
hears nothing more and is killed, as it stands.

A process comes from a pool of prepared ones. If the context is to be stopped before it has one, none of its
code has run, and none will.
"""

import contextlib
import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

from fencepost.contexts.execution import Lost, Proposal, Quiet
from fencepost.contexts.forkserver import ServerLost
from fencepost.contexts.network import fetch
from fencepost.contexts.node import Fetch, JavaScript
from fencepost.contexts.node_execution import NodeExecution
from fencepost.contexts.node_process import NodeProcess, Pool, ProcessLost
from fencepost.contexts.node_tools import node
from fencepost.host.engine import Key
from fencepost.host.launching import Code, Listener
from fencepost.machine.replies import Reply
from fencepost.machine.state import Instance, Kind

LOOK_SECONDS = 0.1
"""How often to look whether a process has come to an end, of what it computes or altogether."""


@dataclass(frozen=True)
class NodeCode(Code):
    """What a context runs: a class of this module."""

    module: JavaScript


class _Ready(Pool):
    """A pool of one process that is ready already."""

    def __init__(self, process: NodeProcess) -> None:
        self._process = process

    def take(self) -> NodeProcess:
        """The process."""
        return self._process


class _Context:
    """One context: its process, once it has one, and the thread that drives it."""

    def __init__(
        self, nodes: "Nodes", listener: Listener, key: Key, token: int, instance: Instance, code: Code
    ) -> None:
        self._nodes, self._listener, self._code = nodes, listener, code
        self._key, self._token, self._instance = key, token, instance
        self._guard = threading.Lock()
        self._wake = threading.Event()
        self._stopped = False
        self._process: NodeProcess | None = None
        self._execution: NodeExecution | None = None
        self._thread = threading.Thread(target=self._run, name=f"fencepost-{token}", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """The id of its process, once there is one."""
        execution = self._execution
        return None if execution is None else execution.pid

    def stop(self) -> None:
        """Kill it, and return once it is reaped (PUB-1, TRM-1)."""
        with self._guard:
            self._stopped = True
        self._wake.set()
        if self._execution is not None:
            try:
                self._execution.discard()
            except ProcessLost as error:
                raise ServerLost("what starts processes of Node is gone") from error

    def join(self) -> None:
        """End its thread."""
        with self._guard:
            self._stopped = True
        self._wake.set()
        self._thread.join()
        if self._process is not None:
            self._process.forget()

    def begin(self, kind: Kind, name: Any, arguments: Mapping[str, Any]) -> Reply:
        """A step call."""
        return self._listener.begin_step(self._key, self._token, kind, name, arguments)

    def park(self) -> Reply:
        """Under the reference's latitude a context parks between its turns."""
        raise NotImplementedError

    def _run(self) -> None:
        try:
            process = self._process = self._nodes.pool.take()
        except ProcessLost:
            self._listener.lost(self._key, self._token)
            if self._nodes.pool.lost:
                self._listener.fail()
            return
        try:
            with self._guard:
                if not self._stopped:
                    self._execution = self._executed(process)
            if self._execution is not None:
                self._drive(self._execution)
                return
        except (ProcessLost, ValueError):  # it is gone, or proposed what has no place
            self._listener.lost(self._key, self._token)
        with contextlib.suppress(ProcessLost):
            process.stop()

    def _executed(self, process: NodeProcess) -> NodeExecution:
        if not isinstance(self._code, NodeCode):
            raise ValueError("there is no code in JavaScript for this context")
        return NodeExecution(
            self._code.module,
            self._code.class_name,
            self._code.env,
            self._instance.id,
            self._instance.params,
            self,
            fetch=self._nodes.fetch,
            pool=_Ready(process),
            wake=self._wake.set,
        )

    def _drive(self, execution: NodeExecution) -> None:
        """Give turns until the context is over or gone."""
        while not (self._stopped or execution.dead):
            signal = execution.turn()
            if isinstance(signal, Lost):
                self._listener.lost(self._key, self._token)
                return
            if isinstance(signal, Proposal):
                execution.deliver(self._listener.propose(self._key, self._token, signal))
            elif isinstance(signal, Quiet) and not execution.dead:
                self._rest(execution)

    def _rest(self, execution: NodeExecution) -> None:
        """Wait for an answer, a timer or the end; a turn finds out whether the process is gone."""
        due = math.inf if execution.due is None or execution.computing else execution.due
        if not self._wake.wait(min(max(due - time.monotonic(), 0), LOOK_SECONDS)) and time.monotonic() >= due:
            execution.fire_due()
        self._wake.clear()


class Nodes:
    """Contexts as processes of Node; `NodeMissing` when there is none.

    What a context logs goes to `log`, by default to where this process does.
    """

    def __init__(self, *, fetch: Fetch = fetch, log: IO[Any] | int | None = None) -> None:
        node()
        self.fetch = fetch
        self.pool = Pool(log=log)

    @property
    def session(self) -> int:
        """What starts the processes leads it."""
        return self.pool.session

    def launch(self, listener: Listener, key: Key, token: int, instance: Instance, code: Code) -> _Context:
        """Start the thread of a context, which takes a process; lost at once without code of ours."""
        return _Context(self, listener, key, token, instance, code)

    def close(self) -> None:
        """End what starts processes, and all that it has started."""
        self.pool.close()
