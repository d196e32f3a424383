"""The reference Host under the real clock for a workflow class in JavaScript: a process of Node each context.

The thread of a context gives its process a turn whenever there is something to do: an answer that has come, a
timer that is due, a reply of the machine. Between turns the process stands still. A context that has to stop
hears nothing more and is killed, as it stands.

A process comes from a pool of prepared ones. If the context is to be stopped before it has one, none of its
code has run, and none will.
"""

import contextlib
import json
import math
import threading
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import IO, Any

from fencepost.contexts.execution import Lost, Port, Proposal, Quiet
from fencepost.contexts.forkserver import CannotLoad, ServerLost
from fencepost.contexts.network import fetch
from fencepost.contexts.node import Conversation, Fetch, JavaScript
from fencepost.contexts.node_execution import NodeExecution
from fencepost.contexts.node_process import NodeProcess, Pool, ProcessLost
from fencepost.contexts.node_tools import node
from fencepost.host.engine import Key
from fencepost.host.running import RunningHost
from fencepost.machine import Rules
from fencepost.machine.replies import Reply
from fencepost.machine.state import Instance, Kind

LOOK_SECONDS = 0.1
"""How often to look whether a process has come to an end, of what it computes or altogether."""

EVALUATION_SECONDS = 10.0
"""How long a module may take to be evaluated when it is looked at."""


class Ready(Pool):
    """A pool of one process that is ready already."""

    def __init__(self, process: NodeProcess) -> None:
        self._process = process

    def take(self) -> NodeProcess:
        """The process."""
        return self._process


class _Context:
    """One context: its process, once it has one, and the thread that drives it."""

    def __init__(self, host: "NodeRunning", key: Key, token: int, instance: Instance) -> None:
        self._host, self._key, self._token, self._instance = host, key, token, instance
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
        return self._host.begin_step(self._key, self._token, kind, name, arguments)

    def park(self) -> Reply:
        """Under the reference's latitude a context parks between its turns."""
        raise NotImplementedError

    def _run(self) -> None:
        try:
            process = self._process = self._host.pool.take()
        except ProcessLost:
            self._host.lost(self._key, self._token)
            if self._host.pool.lost:
                self._host.fail()
            return
        try:
            with self._guard:
                if not self._stopped:
                    self._execution = self._host.execution(
                        self._key, self._token, self._instance, self, process, self._wake.set
                    )
            if self._execution is not None:
                self._drive(self._execution)
                return
        except (ProcessLost, ValueError):  # it is gone, or proposed what has no place
            self._host.lost(self._key, self._token)
        with contextlib.suppress(ProcessLost):
            process.stop()

    def _drive(self, execution: NodeExecution) -> None:
        """Give turns until the context is over or gone."""
        while not (self._stopped or execution.dead):
            signal = execution.turn()
            if isinstance(signal, Lost):
                self._host.lost(self._key, self._token)
                return
            if isinstance(signal, Proposal):
                execution.deliver(self._host.propose(self._key, self._token, signal))
            elif isinstance(signal, Quiet) and not execution.dead:
                self._rest(execution)

    def _rest(self, execution: NodeExecution) -> None:
        """Wait for an answer, a timer or the end; a turn finds out whether the process is gone."""
        due = math.inf if execution.due is None or execution.computing else execution.due
        if not self._wake.wait(min(max(due - time.monotonic(), 0), LOOK_SECONDS)) and time.monotonic() >= due:
            execution.fire_due()
        self._wake.clear()


class NodeRunning(RunningHost):
    """Runs contexts in JavaScript, whatever their classes are; `execution` says which code one has.

    What a context logs goes to `log`, by default to where this process does. `NodeMissing` when there is no
    Node.
    """

    def __init__(self, rules: Rules | None = None, *, log: IO[Any] | int | None = None) -> None:
        super().__init__(rules)
        node()
        self.pool = Pool(log=log)

    def end_contexts(self) -> None:
        """End what starts processes, and all that it has started."""
        self.pool.close()

    def launch(self, key: Key, token: int, instance: Instance) -> _Context:
        """Start the thread of a context, which takes a process."""
        return _Context(self, key, token, instance)

    def execution(
        self,
        key: Key,
        token: int,
        instance: Instance,
        port: Port,
        process: NodeProcess,
        wake: Callable[[], None],
    ) -> NodeExecution:
        """The code of a context, in a process that is ready; ValueError where there is none."""
        raise NotImplementedError


class NodeHost(NodeRunning):
    """Runs one workflow class in JavaScript until it is closed; a context manager. `env` is JSON data.

    `CannotLoad` when the module has no such class.
    """

    def __init__(
        self,
        module: JavaScript,
        class_name: str,
        *,
        env: Mapping[str, Any] = MappingProxyType({}),
        rules: Rules | None = None,
        fetch: Fetch = fetch,
        log: IO[Any] | int | None = None,
    ) -> None:
        super().__init__(rules, log=log)
        self._module, self._class_name, self._fetch = module, class_name, fetch
        self._env = json.loads(json.dumps(dict(env)))
        try:
            self._require(class_name)
        except BaseException:  # also an interrupt
            self.pool.close()
            raise
        self.begin()

    def execution(
        self,
        key: Key,
        token: int,
        instance: Instance,
        port: Port,
        process: NodeProcess,
        wake: Callable[[], None],
    ) -> NodeExecution:
        """A context of the one class."""
        return NodeExecution(
            self._module,
            self._class_name,
            self._env,
            instance.id,
            instance.params,
            port,
            fetch=self._fetch,
            pool=Ready(process),
            wake=wake,
        )

    def _require(self, name: str) -> None:
        """Raise `CannotLoad` if the module has no workflow class of this name (ABI-5)."""
        exports = self._look("exports", "inspection").get("exports")
        if exports is None:  # as a workflow it complains
            self._look("settle", "workflow", **{"class": name, "instanceId": "", "params": None})
            raise CannotLoad("the module cannot be evaluated; what is wrong stands above")
        classes = [each for each, fit in exports.items() if fit]
        if name not in classes:
            offered = f"it has {', '.join(classes)}" if classes else "it exports no class with a method run"
            raise CannotLoad(f"the module has no workflow class {name}; {offered}")

    def _look(self, word: str, purpose: str, **more: Any) -> Mapping[str, Any]:
        """The message with this word, or an empty one if a process does not come to it in time."""
        wake, given_up = threading.Event(), time.monotonic() + EVALUATION_SECONDS
        first = self._module.start(purpose, {}, **more)
        conversation = Conversation(first, {}, self._fetch, self.pool, wake.set)
        try:
            while time.monotonic() < given_up:
                message = conversation.turn()
                if message is not None and (word in message or "broken" in message):
                    return message
                if not wake.wait(LOOK_SECONDS) and conversation.due is not None:
                    conversation.say(fire="due")
                wake.clear()
        except ProcessLost:
            pass
        finally:
            conversation.stop()
        return {}
