"""The virtual Host with the management machine above it: Workers, Versions, Deployments, the Workflow and its
Operations.

Management decides what may be; the Host reports what is: counts, and the proof that nothing of a deleted
Workflow, or of a deleted Deployment, runs any more. Each `run` reconciles the two until neither has anything
left to do.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from fencepost.contexts.execution import Loader
from fencepost.host.calls import CallError
from fencepost.host.engine import Key
from fencepost.host.virtual import VirtualHost
from fencepost.machine import Rules
from fencepost.machine.actions import Create
from fencepost.management import forms, queries
from fencepost.management.actions import ABSENT
from fencepost.management.driver import inspect
from fencepost.management.service import Management
from fencepost.management.state import Kind

KINDS: Mapping[str, Kind] = {
    "Worker": "ModuleWorker",
    "Bundle": "WorkerBundle",
    "Version": "WorkerVersion",
    "Deployment": "WorkerDeployment",
    "Workflow": "DurableWorkflow",
}

STANDING_NAMES: Mapping[str, str] = {
    "worker": "probe-worker",
    "bundle": "bundle-v1",
    "deployment": "probe-deployment",
    "workflow": "probe",
    "callerWorker": "caller-worker",
    "callerBundle": "caller-bundle",
    "callerVersion": "caller-version",
    "callerDeployment": "caller-deployment",
}

GRANTS: Mapping[str, tuple[str, ...]] = {"owner": ("default", "other"), "stranger": ("default",)}
"""Which Spaces a principal may use; what it did not create itself a stranger may not refer to (RES-3)."""


@lru_cache(maxsize=64)
def _set_up(
    abilities: tuple[tuple[str, tuple[tuple[str, bool], ...]], ...],
    deployed: tuple[tuple[str, int], ...],
    class_name: str,
    own_binding: bool,
) -> Management:
    """A management with the probe set up at instant 0; its state is immutable, so Hosts start from it
    again."""
    management = Management(grants=GRANTS)
    exports = {name: dict(found) for name, found in abilities}
    management.set_up_probe(0, exports, dict(deployed), class_name=class_name, own_binding=own_binding)
    return management


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
        abilities = {name: tuple(inspect(load()).items()) for name, load in versions.items()}
        made = _set_up(tuple(abilities.items()), tuple(deployed.items()), class_name, own_binding)
        self.management = Management(
            self._count, state=made.state, serial=made.serial, artifacts=made.artifacts, grants=GRANTS
        )
        self.uid = self.management.uid(STANDING_NAMES["workflow"])

    def _count(self, uid: str) -> Mapping[str, int]:
        return self.counts(uid)

    def creation(self, id: Any, params: Any) -> tuple[Key, Create]:
        """What a create is; while the resource is not ready the latitude decides (RDY-1)."""
        ready = queries.admission(self.management.state, self.uid) != "unready"
        if not ready and self.latitude.not_ready == "rejected":
            raise CallError("backend_unavailable", "the resource is not ready")  # RDY-1
        return super().creation(id, params)

    def deploy(self, weights: Mapping[str, int]) -> None:
        """PUT the Deployment, or delete it where no weights are given."""
        if weights:
            self.management.deploy(self.now, weights)
        else:
            self.management.request(self.now, "DELETE", f"/resources/{self.resources()['deployment']}")
        self.run()

    def manage(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """One management call: `method`, `principal`, and what it is on; status, code and document come
        back.

        A POST names `kind`, `space`, `name` and `spec`; the others `uid` or `operation`, a PUT `spec` too.
        `key` and `generation` are sent as they are given.
        """
        method = request["method"]
        target = f"/operations/{request['operation']}" if "operation" in request else "/resources"
        body: Any = ABSENT
        if method == "POST":
            body = {"form": forms.URLS[KINDS[request["kind"]]]} | {
                each: request[each] for each in ("space", "name", "spec")
            }
        elif "uid" in request:
            target = f"/resources/{request['uid']}"
            body = {"spec": request["spec"]} if method == "PUT" else ABSENT
        reply = self.management.request(
            self.now,
            method,
            target,
            body,
            key=request.get("key"),
            generation=request.get("generation"),
            principal=request["principal"],
        )
        self.run()
        if reply.code is not None:
            return {"status": reply.status, "code": reply.code}
        return {
            "status": reply.status,
            "operation" if "resourceUid" in reply.body else "resource": reply.body,
        }

    def resources(self) -> dict[str, str]:
        """The UIDs of what was set up, by the names that scenarios give them."""
        named = {word: self.management.named(name) for word, name in STANDING_NAMES.items()}
        versions = {name: self.management.named(f"version-{name}") for name in self.versions}
        return {word: found.uid for word, found in (named | versions).items() if found is not None}

    def unbind(self) -> None:
        """Delete the caller's Deployment and the Version that binds the Workflow; instances go on."""
        self.management.unbind(self.now)
        self.run()

    def bind(self) -> None:
        """Bind the Workflow again."""
        self.management.bind(self.now)
        self.run()

    def recreate(self) -> None:
        """Create the Workflow again under its name: a new UID and an empty id space (DEL-7)."""
        self.uid = self.management.recreate_workflow(self.now, self.class_name)
        self.run()

    def hold_verification(self, on: bool) -> None:
        """Keep verifications of Versions unfinished, or let them go."""
        self.management.hold_verification(on, self.now)
        self.run()

    def run(self) -> None:
        """Run the data, and reconcile management with it, until both are at rest."""
        super().run()
        while self._reconcile():
            super().run()

    def pick_version(self) -> str | None:
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
