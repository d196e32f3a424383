"""The data plane: the instances of every Workflow, each context on the Version that the weights chose.

It is the Host under the real clock, asked about several Workflows instead of one. What may be is the
machine's to say: this reads the state that the steward keeps, and has no copy of it. A context gets the code
and the `env` of its Version (CTX-2, ABI-2), Bindings included.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import IO, Any

from fencepost.api.artifacts import Artifacts, NotYet, Unsound
from fencepost.api.workers import Workers
from fencepost.contexts.execution import Port
from fencepost.contexts.network import fetch
from fencepost.contexts.node import Binding, JavaScript
from fencepost.contexts.node_execution import NodeExecution
from fencepost.contexts.node_process import NodeProcess
from fencepost.host.binding import Answer, Encoded, make, parsed
from fencepost.host.calls import CallError
from fencepost.host.engine import Key
from fencepost.host.node_host import NodeRunning, Ready
from fencepost.machine import Rules
from fencepost.machine.actions import Crash, Document
from fencepost.machine.state import Instance
from fencepost.management import forms, queries
from fencepost.management.driver import inspect
from fencepost.management.state import State, of_kind

_POINTS = forms.WEIGHT_SUM


class Plane(NodeRunning):
    """Runs what is deployed. `state` reads management as it is now."""

    def __init__(
        self,
        state: Callable[[], State],
        artifacts: Artifacts,
        *,
        rules: Rules | None = None,
        log: IO[Any] | int | None = None,
    ) -> None:
        super().__init__(rules, log=log)
        self._state, self._artifacts = state, artifacts
        self._in_hand: Key = ("", "")
        self._modules: dict[str, JavaScript] = {}
        self._modules_guard = threading.Lock()
        self.workers = Workers(state, self.module, self.env, self.pool)

    def end_contexts(self) -> None:
        """End the processes of Workers and contexts, and what starts them."""
        self.workers.close()
        super().end_contexts()

    # -- what an engine asks of its Host -----------------------------------------------------------

    def next_move(self, key: Key) -> Any:
        """The next thing to do for one instance; a new context gets a Version of its Workflow's Worker."""
        self._in_hand = key
        return super().next_move(key)

    def pick_version(self) -> str | None:
        """A Version by the weights of this instant (CTX-2); none while the Workflow is not ready (RES-4)."""
        state, uid = self._state(), self._in_hand[0]
        workflow = queries.workflow(state, uid)
        if workflow is None or not queries.ready(state, uid):
            return None
        return queries.choose(queries.weights(state, workflow.worker), self._chance.randrange(_POINTS))

    def admit(self, value: Any) -> Document:
        """A document, perhaps one that JavaScript has written."""
        return value.document if isinstance(value, Encoded) else super().admit(value)

    def execution(
        self,
        key: Key,
        token: int,
        instance: Instance,
        port: Port,
        process: NodeProcess,
        wake: Callable[[], None],
    ) -> NodeExecution:
        """A context of the class that its Workflow names, on the Version that it was started on."""
        held, workflow = instance.context(token), queries.workflow(self._state(), key[0])
        if held is None or workflow is None:
            raise ValueError("the context is over before it began")
        return NodeExecution(
            self.module(held.version),
            workflow.class_name,
            self.env(held.version),
            instance.id,
            instance.params,
            port,
            fetch=fetch,
            pool=Ready(process),
            wake=wake,
        )

    # -- Versions ------------------------------------------------------------------------------------

    def module(self, version: str) -> JavaScript:
        """The code of a verified Version; ValueError where its bytes are lost."""
        with self._modules_guard:
            if version not in self._modules:
                spec = queries.artifact(self._state(), version)
                try:
                    self._modules[version] = JavaScript(*self._artifacts.main(spec.url, spec.sha256))
                except (NotYet, Unsound) as lost:
                    raise ValueError(f"the code of {version} is lost: {lost}") from None
            return self._modules[version]

    def env(self, version: str) -> dict[str, Any]:
        """Exactly what a Version declares (ABI-2)."""
        declared = queries.environment(self._state(), version)
        return declared.variables | {name: self.binding(uid) for name, uid in declared.bindings.items()}

    def exports(self, source: str, name: str) -> Mapping[str, bool] | None:
        """Of each export of a module, whether it is a Workflow class; None where it is broken (ABI-1)."""
        found = JavaScript(source, name)()
        return inspect(found) if found else None

    # -- the caller's binding --------------------------------------------------------------------------

    def binding(self, uid: str) -> Binding:
        """The binding of one Workflow, for code in JavaScript."""

        def call(op: str, arguments: Mapping[str, Any], answer: Answer) -> None:
            wanted = parsed(op, arguments)
            with self.lock:
                self.uid = uid
                if op == "create" and queries.admission(self._state(), uid) == "unready":
                    error = CallError("backend_unavailable", "the Workflow is not ready")  # RDY-1
                    answer({"error": {"name": error.name, "message": error.message}})
                    return
                make(self, wanted, answer)

        return call

    # -- what the steward asks -------------------------------------------------------------------------

    def counts(self, uid: str) -> dict[str, int]:
        """How many instances of a Workflow have each status (OBS-1)."""
        with self.lock:
            return super().counts(uid)

    def shut(self, uid: str) -> None:
        """Close a Workflow that is being deleted, once (DEL-3)."""
        with self.lock:
            if uid not in self.closed:
                super().shut(uid)
                self.lock.notify_all()

    def purge(self, uid: str) -> bool:
        """Purge a closed Workflow; whether nothing of it is left (DEL-3, DEL-4)."""
        with self.lock:
            return super().purge(uid)

    def retire(self, worker: str) -> bool:
        """Stop every context of a Worker whose Deployment is being deleted."""
        with self.lock:
            for key, token in list(self._running):
                workflow = queries.workflow(self._state(), key[0])
                if workflow is not None and workflow.worker == worker and self._stop(key, token):
                    self.perform(key, Crash(self.now, token))
            self.lock.notify_all()
        self.workers.retire(
            frozenset(
                version.uid
                for version in of_kind(self._state(), "WorkerVersion")
                if forms.version(version).worker == worker
            )
        )
        return True

    def contexts(self) -> Mapping[str, int]:
        """How many contexts run each Version."""
        with self.lock:
            found = Counter(self.workers.contexts())
            for key, token in self._running:
                slot = self.slot(key)
                held = slot.context(token) if isinstance(slot, Instance) else None
                if held is not None:
                    found[held.version] += 1
            return found

    def look_again(self) -> None:
        """Weights have changed: look whether anything can be started now, and end what has no weight."""
        self.workers.tidy()
        with self.lock:
            self._touched |= self.slots.keys()
            self.lock.notify_all()
