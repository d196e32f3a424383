"""The reference Host as a library: one workflow class in Python, the real clock, a process for each context.

Contexts are forked by a fork server that has the application's module evaluated; it is also what kills them
and proves that they are gone.
"""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fencepost.contexts.forkserver import Export, ForkServer
from fencepost.contexts.wire import Channel, proposal_in, reply_out
from fencepost.host.engine import Key
from fencepost.host.running import Handle, RunningHost
from fencepost.machine import Rules
from fencepost.machine.replies import Reply
from fencepost.machine.state import Instance

__all__ = ["Handle", "Host"]


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


class Host(RunningHost):
    """Runs one workflow class until it is closed; a context manager. `env` is JSON data.

    The class itself is given, or where to find it: `CannotLoad` when it is not there.

    with Host(Report, env={"REGION": "eu"}) as host:
        report = host.start({"name": "sales"})
        print(report.wait())
    """

    def __init__(
        self,
        workflow: type | Export,
        *,
        env: Mapping[str, Any] = MappingProxyType({}),
        rules: Rules | None = None,
    ) -> None:
        super().__init__(rules)
        export = workflow if isinstance(workflow, Export) else Export.of(workflow)
        self._class_name = export.name
        self._env = json.loads(json.dumps(dict(env)))
        self._server = ForkServer(export.module)
        if isinstance(workflow, Export):
            self._server.require(export.name)
        self.begin()

    def __enter__(self) -> "Host":
        return self

    def end_contexts(self) -> None:
        """End the fork server, which kills every context."""
        self._server.close()

    def launch(self, key: Key, token: int, instance: Instance) -> _Forked:
        """Fork a context."""
        params = None if instance.params is None else instance.params.decode()
        first = {"id": instance.id, "params": params, "class": self._class_name, "env": self._env}
        pid, channel = self._server.spawn()
        carrier = threading.Thread(
            target=self._carry, args=(key, token, channel, first), name=f"fencepost-{pid}", daemon=True
        )
        carrier.start()
        return _Forked(pid, self._server, channel, carrier)

    def _carry(self, key: Key, token: int, channel: Channel, first: Mapping[str, Any]) -> None:
        """Carry a context's questions to the machine until it has to stop, or is gone."""
        try:
            channel.send(first)
            while True:
                channel.send(reply_out(self._answer(key, token, channel.receive())))
        except (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError):
            self.lost(key, token)  # it died, it was stopped, or it talked nonsense

    def _answer(self, key: Key, token: int, message: Mapping[str, Any]) -> Reply:
        if "begin" not in message:
            return self.propose(key, token, proposal_in(message))
        if message["begin"] not in ("do", "sleep", "wait"):
            raise ValueError(f"no step operation: {message['begin']!r}")
        return self.begin_step(key, token, message["begin"], message["name"], dict(message["arguments"]))
