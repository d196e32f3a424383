"""How contexts are run under the real clock, whoever keeps the instances: a launcher, and whom contexts tell.

A launcher starts processes and proves their end. What their code asks and proposes goes to the Host that had
them launched, by a thread of each context.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from fencepost.contexts.execution import Proposal
from fencepost.contexts.forkserver import Export, ForkServer
from fencepost.contexts.wire import Channel, proposal_in, reply_out
from fencepost.host.engine import Key
from fencepost.machine.replies import Reply
from fencepost.machine.state import Instance, Kind


@dataclass(frozen=True)
class Code:
    """What a context runs: the class's name in the launcher's module, and the env that it is made with."""

    class_name: str
    env: Mapping[str, Any]


class Running(Protocol):
    """A context that is not proven stopped, and the thread that carries what it says."""

    @property
    def pid(self) -> int | None:
        """The id of its process, once there is one."""

    def stop(self) -> None:
        """Kill it; when this returns it is reaped (PUB-1, TRM-1). Raises ServerLost."""

    def join(self) -> None:
        """Return once its thread has ended; the process is gone already."""


class Listener(Protocol):
    """Whom the threads of contexts tell."""

    def begin_step(self, key: Key, token: int, kind: Kind, name: Any, arguments: Mapping[str, Any]) -> Reply:
        """A step call of a context."""

    def propose(self, key: Key, token: int, proposal: Proposal) -> Reply:
        """A proposal of a context. ValueError if it has no place there."""

    def lost(self, key: Key, token: int) -> None:
        """A context is gone, or not to be believed; told also when it was stopped."""

    def quiet(self, key: Key, token: int) -> None:
        """The run of a context awaits something that nobody will settle."""

    def fail(self) -> None:
        """Nothing can be run any more."""


class Launcher(Protocol):
    """Runs contexts of one module."""

    @property
    def session(self) -> int:
        """The session of everything that it starts: the id of the process that leads it."""

    def launch(self, listener: Listener, key: Key, token: int, instance: Instance, code: Code) -> Running:
        """Start a context; raises ServerLost."""

    def close(self) -> None:
        """Kill all that was launched, and what launches it."""


@dataclass(frozen=True)
class _Forked:
    """A context in a fork of the application's module, and the thread that carries its questions."""

    pid: int
    server: ForkServer
    channel: Channel
    carrier: threading.Thread

    def stop(self) -> None:
        """Kill it, and return once it is reaped."""
        try:
            self.server.stop(self.pid)
        finally:
            self.channel.close()

    def join(self) -> None:
        """End its thread."""
        self.channel.close()
        self.carrier.join()


class Forks:
    """Contexts as forks of a process that has the application's module evaluated."""

    def __init__(self, export: Export) -> None:
        self.server = ForkServer(export.module)

    @property
    def session(self) -> int:
        """The fork server leads it."""
        return self.server.pid

    def close(self) -> None:
        """End the fork server, which kills every context."""
        self.server.close()

    def launch(self, listener: Listener, key: Key, token: int, instance: Instance, code: Code) -> _Forked:
        """Fork a context."""
        params = None if instance.params is None else instance.params.decode()
        first = {"id": instance.id, "params": params, "class": code.class_name, "env": code.env}
        pid, channel = self.server.spawn()
        carrier = threading.Thread(
            target=_carry, args=(listener, key, token, channel, first), name=f"fencepost-{pid}", daemon=True
        )
        carrier.start()
        return _Forked(pid, self.server, channel, carrier)


def _carry(listener: Listener, key: Key, token: int, channel: Channel, first: Mapping[str, Any]) -> None:
    """Carry a context's questions to the machine until it has to stop, or is gone."""
    try:
        channel.send(first)
        while True:
            message = channel.receive()
            if "quiet" in message:
                listener.quiet(key, token)
            else:
                channel.send(reply_out(_answer(listener, key, token, message)))
    except (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError):
        listener.lost(key, token)  # it died, it was stopped, or it talked nonsense


def _answer(listener: Listener, key: Key, token: int, message: Mapping[str, Any]) -> Reply:
    if "begin" not in message:
        return listener.propose(key, token, proposal_in(message))
    if message["begin"] not in ("do", "sleep", "wait"):
        raise ValueError(f"no step operation: {message['begin']!r}")
    return listener.begin_step(key, token, message["begin"], message["name"], dict(message["arguments"]))
