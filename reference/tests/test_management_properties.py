"""What holds whatever happens: refusals change nothing, keys reach one Operation, records never contradict.

Random management histories: several principals, Spaces and Forms, reports that come at wrong moments, and
moves that are taken or left out. After every action the state is judged by the rules that no single action
shows.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from fencepost.management import (
    ABSENT,
    STATUSES,
    Action,
    Expire,
    Illegal,
    Living,
    Observe,
    Operation,
    Progress,
    Purged,
    Reply,
    Request,
    Retired,
    Rules,
    State,
    Transition,
    Verify,
    VerifyBundle,
    apply,
    dependencies,
    enabled,
    forms,
    queries,
)
from fencepost.management.bundles import JAVASCRIPT, File, Manifest
from fencepost.management.progress import MOVES
from fencepost.management.values import from_text
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

SHA = "0" * 64
MANIFEST = Manifest(SHA, "main.mjs", (File("main.mjs", SHA, JAVASCRIPT, 1),))
PRINCIPALS = st.sampled_from([*["ann"] * 8, "bob", None])
NAMES = st.sampled_from(["a", "b", "c", "d"])
STALE = st.sampled_from([*[0] * 5, 1])
CLASSES = st.sampled_from(["Probe", "Other"])
EXPORTS = st.sampled_from([{"Probe": True}, {"Probe": True, "Other": True}, {"Probe": False}, {}])
SLOTS = st.integers(0, 7)


class ManagementHistories(RuleBasedStateMachine):
    """Histories of one Space, with a second one that only `ann` may use."""

    def __init__(self) -> None:
        super().__init__()
        self.state = State(Rules(replay_window_seconds=1))
        self.now = 0
        self.serial = 0
        self.requests: list[tuple[Request, str]] = []
        self.ended: dict[str, Operation] = {}
        self.seen: dict[str, str] = {}

    def act(self, action: Action) -> Transition:
        before = repr(self.state)
        transition = apply(self.state, action)
        assert repr(self.state) == before  # nothing was changed in place
        refused = isinstance(transition.reply, Illegal) or (
            isinstance(transition.reply, Reply) and transition.reply.code is not None
        )
        if refused:
            assert transition.state is self.state  # an illegal action leaves the state as it was
        self.state = transition.state
        return transition

    def pick(self, slot: int, kind: str | None = None) -> str:
        uids = [r.uid for r in self.state.resources.values() if kind in (None, r.kind)]
        return uids[slot % len(uids)] if uids else "uid-0"

    def send(
        self, method: str, target: str, principal: str | None, generation: int | None, body: Any
    ) -> None:
        self.serial += 1
        spaces = {"ann": {"s", "t"}, "bob": {"s"}}.get(principal or "", set())
        request = Request(
            now=self.now,
            method=method,
            target=target,
            uid=f"uid-{self.serial}",
            operation=f"op-{self.serial}",
            principal=principal,
            spaces=frozenset(spaces),
            key=f"key-of-a-request-{self.serial}",
            generation=generation,
            body=body,
        )
        reply = self.act(request).reply
        assert isinstance(reply, Reply)
        if reply.code is None:
            assert reply.status == 202
            assert reply.body["id"] == request.operation
            self.requests.append((request, request.operation))

    def spec(self, kind: str, slot: int, class_name: str = "Probe", split: bool = False) -> dict[str, Any]:
        worker = {"resourceUid": self.pick(slot, "ModuleWorker")}
        match kind:
            case "ModuleWorker":
                return {}
            case "WorkerBundle":
                return {"artifact": {"url": "https://a.invalid/m", "sha256": SHA}}
            case "WorkerVersion":
                bindings = [{"name": "F", "resource": {"resourceUid": self.pick(slot, "DurableWorkflow")}}]
                return {
                    "worker": worker,
                    "bundle": {"resourceUid": self.pick(slot, "WorkerBundle")},
                    "handlers": [],
                    "workflowBindings": bindings if split else [],
                }
            case "WorkerDeployment":
                uids = {self.pick(n, "WorkerVersion") for n in ((slot, slot + 1) if split else (slot,))}
                share = 10000 // len(uids)
                versions = [{"workerVersion": {"resourceUid": uid}, "weight": share} for uid in sorted(uids)]
                return {"worker": worker, "versions": versions}
            case _:
                return {"worker": worker, "className": class_name}

    def post(self, kind: Any, spec: dict[str, Any], principal: str | None = "ann", **frame: str) -> None:
        name = frame.get("name", f"name-{self.serial}")
        body = {"form": forms.URLS[kind], "space": frame.get("space", "s"), "name": name, "spec": spec}
        self.send("POST", "/resources", principal, None, body)

    @initialize(
        exports=EXPORTS,
        last=st.sampled_from(["", "W", "D", "WD", "DW"]),
        rest=st.sampled_from([True, True, False]),
    )
    def populate(self, exports: dict[str, bool], last: str, rest: bool) -> None:
        """A Worker and a Version, and in either order a Workflow and a Deployment, all at rest or not."""
        more = {"W": "DurableWorkflow", "D": "WorkerDeployment"}
        for kind in ("ModuleWorker", "WorkerBundle", "WorkerVersion", *(more[each] for each in last)):
            self.post(kind, self.spec(kind, 0))
            self.settle(exports, rest)

    @rule(kind=st.sampled_from(["ModuleWorker", "WorkerBundle"]), principal=PRINCIPALS, name=NAMES)
    def create_base(self, kind: Any, principal: str | None, name: str) -> None:
        self.post(kind, self.spec(kind, 0), principal, name=name)

    @rule(slot=SLOTS, binds=st.booleans(), principal=PRINCIPALS)
    def create_version(self, slot: int, binds: bool, principal: str | None) -> None:
        self.post("WorkerVersion", self.spec("WorkerVersion", slot, split=binds), principal)

    @rule(slot=SLOTS, split=st.booleans(), principal=PRINCIPALS)
    def create_deployment(self, slot: int, split: bool, principal: str | None) -> None:
        self.post("WorkerDeployment", self.spec("WorkerDeployment", slot, split=split), principal)

    @rule(slot=SLOTS, class_name=CLASSES, principal=PRINCIPALS, space=st.sampled_from(["s", "s", "s", "t"]))
    def create_workflow(self, slot: int, class_name: str, principal: str | None, space: str) -> None:
        self.post("DurableWorkflow", self.spec("DurableWorkflow", slot, class_name), principal, space=space)

    @rule(exports=EXPORTS, verified=st.sampled_from([True, True, False]))
    def settle(self, exports: dict[str, bool], verified: bool) -> None:
        """Take every move, and end the verifications or leave them open."""
        for _ in range(4):
            while moves := enabled(self.state, self.now):
                assert self.act(moves[0]).reply is None  # what is enabled is legal
            for uid in queries.unobserved(self.state):
                self.act(Observe(self.now, uid, dict.fromkeys(STATUSES, 0)))
            for resource in queries.unverified(self.state) if verified else ():
                self.act(VerifyBundle(self.now, resource.uid, MANIFEST))
                self.act(Verify(self.now, resource.uid, exports))

    @rule()
    def stop(self) -> None:
        """The data plane proves what it was asked to stop."""
        for uid in (*queries.closing(self.state), *queries.retiring(self.state)):
            self.act(Purged(self.now, uid))
            self.act(Retired(self.now, uid))

    @rule(slot=SLOTS, principal=PRINCIPALS, stale=STALE, same=st.booleans())
    def put(self, slot: int, principal: str | None, stale: int, same: bool) -> None:
        resource = self.state.resources.get(self.pick(slot))
        if resource is not None:
            spec = from_text(resource.spec) if same else self.spec(resource.kind, slot, split=True)
            target = f"/resources/{resource.uid}"
            self.send("PUT", target, principal, resource.generation + stale, {"spec": spec})

    @rule(slot=SLOTS, principal=PRINCIPALS, stale=STALE)
    def delete(self, slot: int, principal: str | None, stale: int) -> None:
        resource = self.state.resources.get(self.pick(slot))
        if resource is not None:
            target = f"/resources/{resource.uid}"
            self.send("DELETE", target, principal, resource.generation + stale, ABSENT)

    @precondition(lambda self: self.requests)
    @rule(slot=st.integers(0, 99))
    def send_again(self, slot: int) -> None:
        """The same request under its key reaches its Operation; another one under the key is a conflict."""
        request, operation = self.requests[slot % len(self.requests)]
        known = operation in self.state.operations
        if not known:
            return
        before = self.state
        fields = {name: getattr(request, name) for name in Request.__slots__}
        again = Request(
            **{**fields, "now": self.now, "uid": "uid-of-a-second", "operation": "op-of-a-second"}
        )
        reply = self.act(again).reply
        assert isinstance(reply, Reply)
        assert reply.body["id"] == operation
        assert reply.status == (200 if self.state.operations[operation].finished else 202)
        other = Request(**{**fields, "generation": 77})
        reply = self.act(other).reply
        assert isinstance(reply, Reply)
        assert reply.code == "idempotency_conflict"
        assert self.state is before

    @rule(slot=SLOTS, status=st.sampled_from(sorted(MOVES)), error=st.sampled_from([None, ("a", "b")]))
    def push(self, slot: int, status: Any, error: Any) -> None:
        """Anyone's idea of a move, for one of the younger Operations."""
        operations = list(self.state.operations)[-4:]
        operation = operations[slot % len(operations)] if operations else "op-0"
        self.act(Progress(self.now, operation, status, error=error))

    @rule(slot=SLOTS, exports=EXPORTS, problem=st.sampled_from(["", "no module"]))
    def report(self, slot: int, exports: dict[str, bool], problem: str) -> None:
        """Every report there is, wanted or not."""
        uid = self.pick(slot)
        self.act(VerifyBundle(self.now, uid, None if problem else MANIFEST))
        self.act(Verify(self.now, uid, exports, problem))
        self.act(Observe(self.now, uid, dict.fromkeys(STATUSES, slot)))
        self.act(Purged(self.now, uid))
        self.act(Retired(self.now, uid))
        self.act(Living(self.now, uid, slot % 2))

    @rule(milliseconds=st.sampled_from([1, 500, 1001]))
    def wait(self, milliseconds: int) -> None:
        self.now += milliseconds
        self.act(Expire(self.now))

    @invariant()
    def terminal_operations_never_change(self) -> None:
        for operation in self.state.operations.values():
            if operation.finished:
                assert self.ended.setdefault(operation.id, operation) == operation
                assert operation.effect != "unknown"
            assert operation.id not in self.state.expired

    @invariant()
    def uids_and_names_are_used_once(self) -> None:
        names = [(resource.space, resource.name) for resource in self.state.resources.values()]
        assert len(names) == len(set(names))
        assert not set(self.state.resources) & set(self.state.tombstones)
        for uid, resource in self.state.resources.items():
            assert self.seen.setdefault(uid, resource.name) == resource.name

    @invariant()
    def phases_agree_with_operations(self) -> None:
        for resource in self.state.resources.values():
            operation = self.state.operations.get(resource.last_operation)
            if operation is None:
                assert resource.phase in ("idle", "error")
                continue
            assert operation.generation == resource.generation >= resource.observed_generation
            expected = {"create": "pending", "update": "pending", "delete": "deleting"}[operation.action]
            ended = {"succeeded": "idle", "failed": "error"}
            assert resource.phase == ended.get(operation.status, expected)

    @invariant()
    def nothing_names_what_is_gone(self) -> None:
        for resource in self.state.resources.values():
            for reference in forms.references(forms.view(resource.kind, resource.spec)):
                named = self.state.resources[reference.uid]
                assert named.phase != "deleting"
                assert (named.space, named.owner) == (resource.space, resource.owner)  # RES-3

    @invariant()
    def weights_in_force_fit_every_workflow(self) -> None:
        for worker, active in self.state.active.items():
            assert self.state.resources[active.deployment].phase != "deleting"
            for workflow in self.state.resources.values():
                if workflow.kind == "DurableWorkflow" and forms.workflow(workflow).worker == worker:
                    for version, _ in active.weights:
                        class_name = forms.workflow(workflow).class_name
                        assert dependencies.fitness(self.state, version, class_name) == "fit"

    @invariant()
    def an_idle_deployment_is_the_active_one_of_its_worker(self) -> None:
        for resource in self.state.resources.values():
            if resource.kind == "WorkerDeployment" and resource.phase == "idle":
                assert self.state.active[forms.deployment(resource).worker].deployment == resource.uid

    @invariant()
    def a_live_context_keeps_its_version(self) -> None:
        assert self.state.living <= set(self.state.resources)

    @invariant()
    def the_machine_never_runs_for_ever(self) -> None:
        state, moves = self.state, 0
        while pending := enabled(state, self.now):
            state = apply(state, pending[0]).state
            moves += 1
            assert moves <= 4 * len(self.state.operations) + 1


ManagementHistories.TestCase.settings = settings(
    max_examples=80, stateful_step_count=30, deadline=None, derandomize=True
)
TestManagementHistories = ManagementHistories.TestCase
