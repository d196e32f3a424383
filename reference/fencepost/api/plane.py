"""The data plane: the instances of every Workflow in JavaScript, and the deployed Workers beside them.

It is a worker over the database, which looks after several Workflows instead of one. A restart loses nothing:
what an earlier process has left is proven stopped, and delivered again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import IO, Any

from fencepost.api.artifacts import Artifacts
from fencepost.api.calls import Calls
from fencepost.api.instances import Deployed, Instances
from fencepost.api.versions import Versions
from fencepost.api.workers import Workers
from fencepost.durable.store import Store as Database
from fencepost.host.node_launching import Nodes
from fencepost.management import forms
from fencepost.management.state import State, of_kind


class Plane(Instances):
    """Runs what is deployed. `state` reads management as it is now; `NodeMissing` without Node."""

    def __init__(
        self,
        database: Database,
        state: Callable[[], State],
        artifacts: Artifacts,
        *,
        log: IO[Any] | int | None = None,
    ) -> None:
        nodes = Nodes(log=log)
        self._calls = Calls(database, state)
        self.versions = Versions(state, artifacts, self._calls.binding)
        self.exports = self.versions.exports
        self.workers = Workers(state, self.versions.module, self.versions.env, nodes.pool)
        super().__init__(database, state, Deployed(database, nodes, state, self.versions.code))
        self._thread = threading.Thread(target=self._worker.run, name="fencepost-worker", daemon=True)

    def begin(self) -> None:
        """Begin to run."""
        self._calls.begin()
        self._thread.start()

    def close(self) -> None:
        """End everything that runs; what it was at is delivered again by the next one."""
        self.workers.close()
        self._calls.close()
        self._worker.close()
        if self._thread.ident is not None:
            self._thread.join()
        else:
            self._worker.launcher.close()

    def until_closed(self) -> None:
        """Return once this is closed, or has lost what runs its contexts."""
        self._thread.join()

    # -- what the steward asks, beside what concerns instances ------------------------------------------

    def retire(self, worker: str) -> bool:
        """Stop every context of a Worker whose Deployment is being deleted."""
        versions = of_kind(self._state(), "WorkerVersion")
        self.workers.retire(frozenset(each.uid for each in versions if forms.version(each).worker == worker))
        return super().retire(worker)

    def look_again(self) -> None:
        """Weights have changed: look whether anything can be started now, and end what has no weight."""
        self.workers.tidy()
        super().look_again()

    def contexts(self) -> Mapping[str, int]:
        """How many contexts run each Version."""
        found = dict(super().contexts())
        for version, count in self.workers.contexts().items():
            found[version] = found.get(version, 0) + count
        return found

    def cut(self, versions: frozenset[str]) -> None:
        """Stop every context of these Versions, as if their owners were lost."""
        self.workers.retire(versions)
        super().cut(versions)
