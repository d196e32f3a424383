"""A context in a process of its own: what runs there, from the fork to the kill.

The process never ends a context by itself. When the machine has fenced or stopped it, it blocks for
ever in the middle of the call that said so: no exception is raised, no frame is left, no ``finally``
runs. The Host then kills and reaps it. Effects that are coroutines run on asyncio; `run` itself runs in
turns, since it only ever awaits steps.
"""

import asyncio
import inspect
import os
import signal
import socket
import threading
from collections.abc import Mapping
from typing import Any, NoReturn

from fencepost import documents
from fencepost.contexts import turns
from fencepost.contexts.execution import Execution, Loader, Proposal, Quiet
from fencepost.contexts.wire import Channel, plain, proposal_out, reply_in
from fencepost.machine.latitude import REFERENCE
from fencepost.machine.replies import Reply, Stopped
from fencepost.machine.state import Kind
from fencepost.workflow import WorkflowEvent


class _Parent:
    """The port of an execution to its Host, through the channel."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._lock = threading.Lock()

    def ask(self, message: Mapping[str, Any]) -> Reply:
        """Ask the Host; if it says stop, this call never returns."""
        with self._lock:
            try:
                self._channel.send(message)
                reply = reply_in(self._channel.receive())
            except (OSError, EOFError):
                os._exit(1)  # the Host is gone: nobody is left who could stop this process
            if isinstance(reply, Stopped):
                block()
            return reply

    def begin(self, kind: Kind, name: Any, arguments: Mapping[str, Any]) -> Reply:
        """A step call."""
        return self.ask({"begin": kind, "name": plain(name), "arguments": plain(arguments)})

    def park(self) -> Reply:
        """Park at once."""
        return self.ask({"park": ""})


class _ProcessExecution(Execution):
    """An execution whose asynchronous effects have an asyncio loop, and in which nobody is interrupted."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.turns.passes = ()  # a KeyboardInterrupt here was raised by the application

    async def execute(self, effect: Any) -> Any:
        result = effect()
        if not inspect.isawaitable(result):
            return result
        if isinstance(result, turns.Promise):
            return await result  # it was made in this turn, before there was a loop
        with turns.suspended(), asyncio.Runner() as runner:
            return runner.run(_awaited(result))


async def _awaited(result: Any) -> Any:
    return await result


def block() -> NoReturn:
    """Wait for the kill; no handler of the application's runs meanwhile."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    forever = threading.Lock()
    forever.acquire()
    while True:
        forever.acquire()


def main(connected: socket.socket, load: Loader) -> NoReturn:
    """Serve one context on this socket; does not return."""
    channel = Channel(connected)
    start = channel.receive()
    parent = _Parent(channel)
    params = start["params"]
    event = WorkflowEvent(start["id"], None if params is None else documents.decode(params.encode()))
    awake = threading.Event()
    execution = _ProcessExecution(load, start["class"], start["env"], event, parent, REFERENCE, awake.set)
    while True:
        awake.clear()
        signal = execution.turn()
        if isinstance(signal, Proposal):
            execution.deliver(parent.ask(proposal_out(signal)))
        elif isinstance(signal, Quiet):
            channel.send({"quiet": True})
            awake.wait()  # for a thread of the application's that settles what it awaits
