"""The reference Host as a library: one workflow class in Python, the real clock, a process for each context.

Contexts are forked by a fork server that has the application's module evaluated; it is also what kills them
and proves that they are gone.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fencepost.contexts.forkserver import Export
from fencepost.host.engine import Key
from fencepost.host.launching import Code, Forks, Running
from fencepost.host.running import Handle, RunningHost
from fencepost.machine import Rules
from fencepost.machine.state import Instance

__all__ = ["Handle", "Host"]


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
        self._env = json.loads(json.dumps(dict(env)))
        self._code = Code(export.name, self._env)
        self._forks = Forks(export)
        self._server = self._forks.server
        if isinstance(workflow, Export):
            self._server.require(export.name)
        self.begin()

    def __enter__(self) -> "Host":
        return self

    def end_contexts(self) -> None:
        """End the fork server, which kills every context."""
        self._forks.close()

    def launch(self, key: Key, token: int, instance: Instance) -> Running:
        """Fork a context."""
        return self._forks.launch(self, key, token, instance, self._code)
