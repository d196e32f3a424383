"""The probe as a context of a worker has it: a module that is evaluated once, and forked for each context.

A report is a question to the kit's board, and the process stands still until it is answered. So a gate holds
back the whole context, which is what an effect that blocks does.
"""

import os
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

from fencepost import workflow
from fencepost.contexts import turns
from fencepost.contexts.wire import Channel

from ...journal import Journal
from ...probe import interpreter


class BoardJournal(Journal):
    """The journal at the kit's board."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._channel = _connected(path)
        self._timer: Channel | None = None

    def run(self, instance: str) -> None:
        """`run` was called in a context of this instance."""
        self._ask(report="run", instance=instance)

    def mark(self, label: str) -> None:
        """The program passed this label, outside of any step."""
        self._ask(report="mark", label=label)

    async def effect_start(self, instance: str, name: str) -> int:
        """An effect began."""
        return int(self._ask(report="start", instance=instance, name=name)["execution"])

    async def effect_end(self, instance: str, name: str) -> None:
        """An effect is about to settle."""
        self._ask(report="end", instance=instance, name=name)

    async def gate(self, name: str) -> None:
        """Stand at a gate until it is released."""
        self._ask(report="gate", name=name)

    async def tick(self, milliseconds: int) -> None:
        """Stand until the Host is let run again; beside the run only this stands, and nothing else."""
        if turns.current() is None:  # inside an effect
            self._ask(report="tick")
            return
        fired, fire, _ = workflow.deferred()
        threading.Thread(target=self._float, args=(fire,), daemon=True).start()
        await fired

    def _float(self, fire: Callable[[Any], None]) -> None:
        if self._timer is None:
            self._timer = _connected(self._path)
        _ask(self._timer, report="float")
        fire(None)

    async def spin(self) -> None:
        """Compute for ever."""
        self._ask(report="spin")
        while True:
            pass

    def call(self, operation: str, instance: str) -> None:
        """Have the kit make a caller's call about this instance."""
        self._ask(report="call", call=operation, instance=instance)

    def _ask(self, **question: Any) -> dict[str, Any]:
        return _ask(self._channel, **question)


def _connected(path: str) -> Channel:
    """A channel to the board, on which this process has said who it is."""
    connected = socket.socket(socket.AF_UNIX)
    connected.connect(path)
    channel = Channel(connected)
    _ask(channel, context=os.getpid())
    return channel


def _ask(channel: Channel, **question: Any) -> dict[str, Any]:
    channel.send(question)
    return channel.receive()


class _Binding:
    """The caller's binding as the instance's own code reaches it."""

    def __init__(self, journal: BoardJournal) -> None:
        self._journal = journal

    async def get(self, id: str) -> "_Handle":
        """A handle on an instance."""
        return _Handle(self._journal, id)


class _Handle:
    def __init__(self, journal: BoardJournal, id: str) -> None:
        self._journal, self._id = journal, id

    async def terminate(self) -> None:
        """Settled if the instance lives to see it."""
        self._journal.call("terminate", self._id)


class Probe(interpreter.Probe):
    """The Workflow class."""

    def __init__(self, env: Mapping[str, Any]) -> None:
        journal = BoardJournal(env["JOURNAL"])
        declared = {"VERSION": env["VERSION"], "JOURNAL": journal}
        super().__init__(declared | ({"PROBE": _Binding(journal)} if "PROBE" in env else {}))
