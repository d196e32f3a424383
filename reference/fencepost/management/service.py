"""The management side of a Host under test: a probe Workflow, its Versions, and a caller that binds it.

Two Workers stand side by side. The probe's Worker has one Version for each name and a Deployment that
weighs them; the Workflow is made before either, as it may be (RES-4). The caller's Worker has a Version
that binds the Workflow as `PROBE`, and a Deployment of its own: so the Binding can go (`unbind`) while
every running instance stays. Nothing here is privileged: all of it is ordinary requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fencepost.management import forms, queries
from fencepost.management.actions import ABSENT, Reply
from fencepost.management.driver import FRESH, PRINCIPAL, SPACE, Driver
from fencepost.management.forms import WEIGHT_SUM
from fencepost.management.state import Kind
from fencepost.management.values import timestamp

WORKFLOW = "probe"
CLASS = "Probe"
BINDING = "PROBE"

_WORKER, _DEPLOYMENT = "probe-worker", "probe-deployment"
_CALLER, _CALLER_BUNDLE = "caller-worker", "caller-bundle"
_CALLER_VERSION, _CALLER_DEPLOYMENT = "caller-version", "caller-deployment"

# What a call may be on, besides a UID or an Operation id: a Form, and the standing Resource of it.
STANDING: Mapping[str, tuple[Kind, str]] = {
    "Worker": ("ModuleWorker", _WORKER),
    "Bundle": ("WorkerBundle", _CALLER_BUNDLE),
    "Version": ("WorkerVersion", _CALLER_VERSION),
    "Deployment": ("WorkerDeployment", _DEPLOYMENT),
    "Workflow": ("DurableWorkflow", WORKFLOW),
}


def reference(uid: str) -> dict[str, str]:
    """A reference by UID, as a spec writes it."""
    return {"resourceUid": uid}


class Management(Driver):
    """The driver with a probe set up, as a Host needs it to serve scenarios."""

    def set_up_probe(
        self,
        now: int,
        versions: Mapping[str, Mapping[str, bool]],
        deployed: Mapping[str, int],
        *,
        class_name: str = CLASS,
        own_binding: bool = False,
    ) -> str:
        """Make Workers, Workflow, Versions (name -> exports), Deployment and Binding; the Workflow's UID."""
        worker = self.made(now, "ModuleWorker", _WORKER, {})
        spec = {"worker": reference(worker), "className": class_name}
        uid = self.made(now, "DurableWorkflow", WORKFLOW, spec)
        for name, exports in versions.items():
            self.add_version(now, name, exports, bindings={BINDING: uid} if own_binding else {})
        self.deploy(now, deployed)
        self.made(now, "ModuleWorker", _CALLER, {})
        self.made(now, "WorkerBundle", _CALLER_BUNDLE, self.publish("caller", {}).spec)
        self.bind(now)
        self.observe(now, uid)
        return uid

    def add_version(
        self, now: int, name: str, exports: Mapping[str, bool], bindings: Mapping[str, str] | None = None
    ) -> str:
        """Make one more Version of the probe's Worker, `env.VERSION` being its name; its UID."""
        bundle = self.made(now, "WorkerBundle", f"bundle-{name}", self.publish(name, exports).spec)
        spec: dict[str, Any] = {
            "worker": reference(self.uid(_WORKER)),
            "bundle": reference(bundle),
            "handlers": [],
            "vars": {"VERSION": name},
        }
        if bindings:
            spec["workflowBindings"] = [{"name": n, "resource": reference(u)} for n, u in bindings.items()]
        return self.made(now, "WorkerVersion", f"version-{name}", spec)

    def uid(self, name: str) -> str:
        """The UID of the undeleted Resource of a name; KeyError where there is none."""
        resource = self.named(name)
        if resource is None:
            raise KeyError(f"there is no Resource named {name!r}")
        return resource.uid

    @property
    def workflow(self) -> str | None:
        """The UID of the probe Workflow while it is undeleted."""
        resource = self.named(WORKFLOW)
        return resource.uid if resource is not None else None

    def version_name(self, version: str) -> str:
        """The name that a Version of the probe was made under."""
        return self.state.resources[version].name.removeprefix("version-")

    def weights(self) -> dict[str, int]:
        """The weights in force for the probe's Worker, by the names of the Versions."""
        selection = queries.weights(self.state, self.uid(_WORKER))
        return {self.version_name(uid): weight for uid, weight in selection}

    def choose(self, point: int) -> str | None:
        """The name of the Version at a point of 0 to 9999; nothing where no Deployment is active (CTX-2)."""
        selection = queries.weights(self.state, self.uid(_WORKER))
        return self.version_name(queries.choose(selection, point)) if selection else None

    def deploy(self, now: int, weights: Mapping[str, int]) -> Reply:
        """Put new weights (Version name -> basis points) in force, all at once."""
        spec = {
            "worker": reference(self.uid(_WORKER)),
            "versions": [
                {"workerVersion": reference(self.uid(f"version-{name}")), "weight": weight}
                for name, weight in weights.items()
            ],
        }
        standing = self.named(_DEPLOYMENT)
        if standing is None:
            reply = self.create(now, "WorkerDeployment", _DEPLOYMENT, spec)
        else:
            reply = self.request(now, "PUT", f"/resources/{standing.uid}", {"spec": spec})
        self.succeeded(reply)
        return reply

    # -- the resource's life

    def bind(self, now: int) -> None:
        """Make the caller's Version that binds the Workflow, and deploy it."""
        version = self.made(
            now,
            "WorkerVersion",
            _CALLER_VERSION,
            {
                "worker": reference(self.uid(_CALLER)),
                "bundle": reference(self.uid(_CALLER_BUNDLE)),
                "handlers": [],
                "workflowBindings": [{"name": BINDING, "resource": reference(self.uid(WORKFLOW))}],
            },
        )
        spec = {
            "worker": reference(self.uid(_CALLER)),
            "versions": [{"workerVersion": reference(version), "weight": WEIGHT_SUM}],
        }
        self.made(now, "WorkerDeployment", _CALLER_DEPLOYMENT, spec)

    @property
    def bound(self) -> bool:
        """Whether a caller can reach the Workflow: a deployed caller Version binds it."""
        return self.named(_CALLER_DEPLOYMENT) is not None

    def unbind(self, now: int) -> None:
        """Take the caller's Deployment away, then its Version; the probe's instances are not touched."""
        deployment = self.uid(_CALLER_DEPLOYMENT)
        gone = self.request(now, "DELETE", f"/resources/{deployment}")
        self.retired(now, deployment)  # no instance ever runs on the caller's Worker
        self.succeeded(gone)
        self.succeeded(self.request(now, "DELETE", f"/resources/{self.uid(_CALLER_VERSION)}"))

    def delete_workflow(self, now: int) -> Reply:
        """DELETE the Workflow; accepted, its Operation reconciles until `purged` is reported (DEL-4)."""
        return self.request(now, "DELETE", f"/resources/{self.uid(WORKFLOW)}")

    def recreate_workflow(self, now: int, class_name: str = CLASS) -> str:
        """Create the Workflow again under its name and bind it; the new UID (DEL-7)."""
        spec = {"worker": reference(self.uid(_WORKER)), "className": class_name}
        uid = self.made(now, "DurableWorkflow", WORKFLOW, spec)
        self.bind(now)
        self.observe(now, uid)
        return uid

    def ready(self) -> bool:
        """Whether the Workflow can accept new instances now."""
        return self.workflow is not None and queries.ready(self.state, self.workflow)

    def observe_workflow(self, now: int) -> None:
        """Observe the Workflow now."""
        self.observe(now, self.uid(WORKFLOW))

    def counts(self, now: int) -> dict[str, int]:
        """`instanceCounts` in an observation at `now` or later: PUT the same spec, then read."""
        uid = self.uid(WORKFLOW)
        self.succeeded(
            self.request(now, "PUT", f"/resources/{uid}", {"spec": self.read(now, uid)["spec"]})
        )  # RES-8
        document = self.read(now, uid)
        assert document["observedAt"] >= timestamp(now)  # OBS-2
        counts: dict[str, int] = document["observed"]["instanceCounts"]
        return counts

    def read(self, now: int, uid: str) -> dict[str, Any]:
        """The Resource document of a UID."""
        return self.request(now, "GET", f"/resources/{uid}").body

    def call(
        self,
        now: int,
        method: str,
        on: str,
        body: Any = ABSENT,
        *,
        key: str | None = FRESH,
        generation: str | int | None = FRESH,
        principal: str | None = PRINCIPAL,
        query: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """A call on a KIND, a UID or an Operation id: `status`, and `code`, `operation` or `resource`.

        A POST on a KIND fills in what its body leaves out: the Form, the Space and a name of its own.
        """
        kind, name = STANDING.get(on, (None, on))
        if method == "POST":
            target = "/resources"
            if kind is not None and isinstance(body, Mapping):
                frame = {"form": forms.URLS[kind], "space": SPACE, "name": f"{on.lower()}-{self.serial}"}
                body = {**frame, **body}
        elif on in self.state.operations:
            target = f"/operations/{on}"
        else:
            standing = self.named(name) if kind is not None else None
            target = f"/resources/{standing.uid if standing is not None else on}"
        reply = self.request(
            now, method, target, body, key=key, generation=generation, principal=principal, query=query or {}
        )
        answer: dict[str, Any] = {"status": reply.status}
        if reply.code is not None:
            answer["code"] = reply.code
        elif "resourceUid" in reply.body:
            answer |= {"operation": reply.body, "uid": reply.body["resourceUid"]}
        else:
            answer |= {"resource": reply.body, "uid": reply.body.get("uid")}
        return answer
