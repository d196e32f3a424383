"""The probe of one scenario, deployed through Host API v2: ten Resources, made and deleted in order.

Two Workers stand side by side, as in the reference: the probe's own, with a Version for each name, and the
caller's, whose Version binds the Workflow and answers the calls of the kit.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any

from fencepost.management import forms
from fencepost.management.state import Kind

from ..adapter import AdapterFault, Setup
from ..host_api import HostApi, Told
from ..probe_bundle import Bundles

_TERMINAL = frozenset({"succeeded", "failed"})
_OPERATION_SECONDS = 60.0
_FIRST_LOOK_SECONDS, _LAST_LOOK_SECONDS = 0.01, 0.2
_PASSES = 5  # over what is left, since some of it stands in the way of the rest


def reference(uid: str) -> dict[str, str]:
    """A reference by UID, as a spec writes it."""
    return {"resourceUid": uid}


class Deployed:
    """What stands on the Host for one scenario, by the names that scenarios give it.

    `journal` is what a context is told of the journal; `let_run` lets the Host go on for so many seconds.
    """

    def __init__(
        self,
        api: HostApi,
        bundles: Bundles,
        setup: Setup,
        space: str,
        journal: str,
        let_run: Callable[[float], object] = time.sleep,
    ) -> None:
        self.token = setup.token
        self._api, self._bundles, self._setup = api, bundles, setup
        self._space, self._journal, self._let_run = space, journal, let_run
        self._standing: dict[str, str] = {}
        self._all: dict[str, None] = {}
        self._numbers = itertools.count(1)
        self._workflow = ""
        self._rounds = itertools.count(1)

    @property
    def caller(self) -> str | None:
        """The Worker that answers the kit's calls."""
        return self._standing.get("callerWorker")

    def set_up(self, caller: bool = True) -> None:
        """Make Worker, Workflow, Versions and Deployment; and the caller's, with its Binding."""
        setup = self._setup
        worker = self._make("worker", "ModuleWorker", {})
        workflow = self._make_workflow()
        bundle = self._make("bundle", "WorkerBundle", self._bundles.spec())
        for name in setup.versions:
            spec: dict[str, Any] = {
                "worker": reference(worker),
                "bundle": reference(bundle),
                "handlers": [],
                "vars": {"VERSION": name, "JOURNAL": self._journal},
            }
            if setup.binding:
                spec["workflowBindings"] = [{"name": "PROBE", "resource": reference(workflow)}]
            self._make(name, "WorkerVersion", spec)
        self.deploy(setup.deployed)
        if caller:
            self._set_up_caller()

    def _set_up_caller(self) -> None:
        self._make("callerWorker", "ModuleWorker", {})
        self._make("callerBundle", "WorkerBundle", self._bundles.spec("the caller's"))
        self.bind()

    def take_down(self) -> None:
        """Delete everything that was made here, as far as the Host lets it go."""
        left = list(reversed(self._all))
        for _ in range(_PASSES):
            left = [uid for uid in left if not self._deleted(uid)]
            if not left:
                return

    def made(self, uid: str) -> None:
        """Remember something that a scenario has made."""
        self._all.setdefault(uid)

    def resources(self) -> dict[str, str]:
        """The UIDs of what stands now."""
        workflow = self._standing.get("workflow")
        if workflow is not None and self._read(workflow) is None:
            del self._standing["workflow"]
        return dict(self._standing)

    def bundle(self, spec: Mapping[str, Any]) -> dict[str, str]:
        """A reference to a bundle that is accepted, and need not be verified."""
        told = self._post("WorkerBundle", spec, f"held-{next(self._numbers)}")
        self.made(told["resourceUid"])
        return reference(told["resourceUid"])

    def deploy(self, weights: Mapping[str, int]) -> None:
        """Put weights in force; without any, take the Deployment away."""
        versions = [
            {"workerVersion": reference(self._standing[name]), "weight": weight}
            for name, weight in weights.items()
        ]
        spec = {"worker": reference(self._standing["worker"]), "versions": versions}
        if not weights:
            self._delete("deployment")
        elif "deployment" in self._standing:
            self._settled(self._change("PUT", self._standing["deployment"], {"spec": spec}))
        else:
            self._make("deployment", "WorkerDeployment", spec)

    def bind(self) -> None:
        """Make the caller's Version that binds the Workflow, and deploy it."""
        caller = reference(self._standing["callerWorker"])
        binding = {"name": "PROBE", "resource": reference(self._standing["workflow"])}
        bundle = reference(self._standing["callerBundle"])
        spec = {"worker": caller, "bundle": bundle, "handlers": ["fetch"], "workflowBindings": [binding]}
        version = self._make("callerVersion", "WorkerVersion", spec)
        versions = [{"workerVersion": reference(version), "weight": forms.WEIGHT_SUM}]
        self._make("callerDeployment", "WorkerDeployment", {"worker": caller, "versions": versions})

    def unbind(self) -> None:
        """Take the caller's Deployment away, then its Version."""
        self._delete("callerDeployment")
        self._delete("callerVersion")

    def recreate(self) -> None:
        """Create the Workflow again under its name, and bind it."""
        self._make_workflow()
        for name in ("callerDeployment", "callerVersion"):
            if name in self._standing:
                self._delete(name)
        self.bind()

    # -- one Resource ------------------------------------------------------------------------------

    def _make_workflow(self) -> str:
        spec = {"worker": reference(self._standing["worker"]), "className": "Probe"}
        return self._make("workflow", "DurableWorkflow", spec, f"{self.token}-workflow")

    def _make(self, word: str, kind: Kind, spec: Mapping[str, Any], name: str | None = None) -> str:
        told = self._settled(self._post(kind, spec, name or f"{word}-{next(self._numbers)}"))
        self._standing[word] = uid = str(told["resourceUid"])
        self.made(uid)
        return uid

    def _post(self, kind: Kind, spec: Mapping[str, Any], name: str) -> dict[str, Any]:
        named = name if name.startswith(self.token) else f"{self.token}-{name}"
        body = {"form": forms.URLS[kind], "space": self._space, "name": named, "spec": dict(spec)}
        return self._accepted(self._api.call("owner", "POST", "/resources", body, key=self._key()), kind)

    def _delete(self, word: str) -> None:
        uid = self._standing.pop(word)
        self._settled(self._change("DELETE", uid))
        self._all.pop(uid, None)

    def _change(self, method: str, uid: str, body: Any = None) -> dict[str, Any]:
        found = self._read(uid)
        if found is None:
            raise AdapterFault(f"{uid} is gone, and was to be changed")
        path, generation = self._api.resource(uid), found["generation"]
        told = self._api.call("owner", method, path, body, key=self._key(), generation=generation)
        return self._accepted(told, f"{method} {path}")

    def _deleted(self, uid: str) -> bool:
        """Whether a Resource is gone, or is just going."""
        found = self._read(uid)
        if found is None or found["phase"] == "deleting":
            return True
        path, generation = self._api.resource(uid), found["generation"]
        told = self._api.call("owner", "DELETE", path, key=self._key(), generation=generation)
        if told.status not in (200, 202):
            return told.status in (404, 410)
        try:
            self._settled(told.json)
        except AdapterFault:
            return False
        return True

    def _read(self, uid: str) -> dict[str, Any] | None:
        told = self._api.call("owner", "GET", self._api.resource(uid))
        return dict(told.json) if told.status == 200 else None

    def _key(self) -> str:
        return f"{self.token}.set-up.{next(self._numbers)}"

    def _accepted(self, told: Told, what: str) -> dict[str, Any]:
        if told.status not in (200, 202):
            raise AdapterFault(
                f"{what} was answered with {told.status}: {told.body[:300].decode('utf-8', 'replace')}"
            )
        return dict(told.json)

    def _settled(self, operation: dict[str, Any]) -> dict[str, Any]:
        """An Operation once it has succeeded; AdapterFault where it has not, or not in time."""
        limit, pause = time.monotonic() + _OPERATION_SECONDS, _FIRST_LOOK_SECONDS
        while operation["status"] not in _TERMINAL:
            if time.monotonic() > limit:
                raise AdapterFault(f"the Operation {operation['id']} is {operation['status']} all the time")
            self._let_run(pause)
            pause = min(2 * pause, _LAST_LOOK_SECONDS)
            operation = dict(self._api.call("owner", "GET", self._api.operation(operation["id"])).json)
        if operation["status"] != "succeeded":
            raise AdapterFault(
                f"the {operation['action']} of {operation['resourceUid']} failed: {operation.get('error')}"
            )
        return operation
