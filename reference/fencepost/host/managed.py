"""The virtual Host with the management machine above it: Workers, Versions, Deployments, the Workflow and its
Operations.

Management decides what may be; the Host reports what is: counts, and the proof that nothing of a deleted
Workflow, or of a deleted Deployment, runs any more. Each `run` reconciles the two until neither has anything
left to do.
"""

from collections.abc import Callable, Mapping
from typing import Any

from fencepost.contexts.execution import Loader
from fencepost.host.calls import CallError
from fencepost.host.virtual import VirtualHost
from fencepost.machine import Rules
from fencepost.management import queries
from fencepost.management.driver import inspect
from fencepost.management.service import Management


class ManagedHost(VirtualHost):
    """A virtual Host whose resource is managed by ordinary requests."""

    def __init__(
        self,
        versions: Mapping[str, Loader],
        deployed: Mapping[str, int],
        *,
        class_name: str = "Probe",
        rules: Rules | None = None,
        environment: Callable[[str], Mapping[str, Any]] = lambda version: {},
        seed: int = 0,
        own_binding: bool = False,
    ) -> None:
        super().__init__(
            versions, deployed, class_name=class_name, rules=rules, environment=environment, seed=seed
        )
        self.management = Management(self._count)
        abilities = {name: inspect(load()) for name, load in versions.items()}
        self.uid = self.management.set_up_probe(
            self.now, abilities, deployed, class_name=class_name, own_binding=own_binding
        )

    def _count(self, uid: str) -> Mapping[str, int]:
        return self.counts(uid)

    def create(self, id: Any = None, params: Any = None) -> str:
        """Create an instance; while the resource is not ready the latitude decides (RDY-1)."""
        ready = queries.admission(self.management.state, self.uid) != "unready"
        if not ready and self.latitude.not_ready == "rejected" and self.backend_up:
            raise CallError("backend_unavailable", "the resource is not ready")  # RDY-1
        return super().create(id, params)

    def deploy(self, weights: Mapping[str, int]) -> None:
        """PUT the Deployment, or delete it where no weights are given."""
        if weights:
            self.management.deploy(self.now, weights)
        else:
            self.management.retract(self.now)
        self.run()

    def request(self, method: str, on: str, **options: Any) -> dict[str, Any]:
        """A management call by method and target; see `Management.call`."""
        answer = self.management.call(self.now, method, on, **options)
        self.run()
        return answer

    def run(self) -> None:
        """Run the data, and reconcile management with it, until both are at rest."""
        super().run()
        while self._reconcile():
            super().run()

    def _pick_version(self) -> str | None:
        return self.management.choose(self._chance.randrange(sum(self.management.weights().values()) or 1))

    def _reconcile(self) -> bool:
        """Report what management waits for; whether anything came of it."""
        state = self.management.state
        for uid in queries.closing(state):
            if uid not in self.closed:
                self.close(uid)
                return True
            if self.purge(uid):
                self.management.purged(self.now, uid)  # DEL-4: only now may the Operation succeed
                return True
        for deployment in queries.retiring(state):
            for owner in list(self.owners):
                self._lose(owner)
            if not self.owners:
                self.management.retired(self.now, deployment)
                return True
        return False
