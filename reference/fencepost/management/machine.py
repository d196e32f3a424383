"""The management machine: one `apply`, and the moves that it makes by itself.

Management and the instances are two machines that meet in a handful of reports. This one never sees an
instance: a create, an event or a terminal outcome adds no Resource, no Operation and no generation here
(RES-10), because no action for it exists. `apply` is total: what does not fit the state comes back as
`Illegal`, or as a problem for a Request, and the state that comes with it is the very one that went in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from fencepost.management import bundles, forms, progress, queries, requests
from fencepost.management.actions import (
    Action,
    Expire,
    Illegal,
    Living,
    Observe,
    Progress,
    Purged,
    Request,
    Retired,
    Transition,
    Verify,
    VerifyBundle,
)
from fencepost.management.state import Finding, Operation, Resource, State, added, unfinished

# The seven statuses of an instance: the keys of `instanceCounts` (OBS-1).
STATUSES = ("queued", "running", "sleeping", "waiting", "complete", "errored", "terminated")


def _illegal(state: State, reason: str, *clauses: str) -> Transition:
    return Transition(state, Illegal(reason), clauses)


def _found(state: State, resource: Resource, finding: Finding) -> State:
    return replace(state, resources=added(state.resources, resource.uid, replace(resource, finding=finding)))


def _verify_bundle(state: State, action: VerifyBundle) -> Transition:
    waiting = {resource.uid: resource for resource in queries.unverified(state)}
    resource = waiting.get(action.uid)
    if resource is None or resource.kind != "WorkerBundle":
        return _illegal(state, "no verification of such a bundle is under way")
    manifest = action.manifest
    if manifest is None:
        problem = action.problem or "the artifact could not be read"
        return Transition(_found(state, resource, Finding(False, detail=problem)), None)
    if defect := action.problem or bundles.defect(manifest, forms.bundle(resource).sha256):
        return Transition(_found(state, resource, Finding(False, detail=defect)), None)
    state = _found(state, resource, Finding(True))
    return Transition(progress.noted(state, resource.uid, bundles.observed(manifest), action.now), None)


def _verify(state: State, action: Verify) -> Transition:
    waiting = {resource.uid: resource for resource in queries.unverified(state)}
    resource = waiting.get(action.uid)
    if resource is None or resource.kind != "WorkerVersion":
        return _illegal(state, "no verification of such a Version is under way")
    exports = tuple(sorted(action.exports.items()))
    finding = Finding(not action.problem, exports, action.problem)
    return Transition(_found(state, resource, finding), None, ("ABI-1",))


def _observe(state: State, action: Observe) -> Transition:
    resource = state.resources.get(action.uid)
    if resource is None or resource.kind != "DurableWorkflow":
        return _illegal(state, "there is no such Workflow")
    if set(action.counts) != set(STATUSES):  # OBS-1: exactly the seven
        return _illegal(state, "count exactly the seven statuses", "OBS-1")
    if any(isinstance(count, bool) or count < 0 for count in action.counts.values()):
        return _illegal(state, "counts are whole numbers from 0", "OBS-1")
    if resource.observed_at is not None and action.now < resource.observed_at:
        return _illegal(state, "a newer observation is already there", "OBS-2")  # OBS-2
    found = {
        "ready": queries.ready(state, action.uid),  # OBS-1
        "instanceCounts": {status: action.counts[status] for status in STATUSES},
    }
    operation = unfinished(state, resource)
    state = progress.noted(state, resource.uid, found, action.now)
    if operation is not None and operation.action != "delete" and operation.status != "queued":
        state = _confirmed(state, operation)
    return Transition(state, None, ("OBS-1", "OBS-2"))


def _confirmed(state: State, operation: Operation) -> State:
    return replace(
        state, operations=added(state.operations, operation.id, replace(operation, confirmed=True))
    )


def _stopped(state: State, action: Purged | Retired) -> Transition:
    kind = "DurableWorkflow" if isinstance(action, Purged) else "WorkerDeployment"
    resource = state.resources.get(action.uid)
    operation = unfinished(state, resource) if resource is not None and resource.kind == kind else None
    if operation is None or operation.action != "delete" or operation.status == "queued":
        return _illegal(state, f"no DELETE of such a {kind} is under way", "DEL-3")
    if operation.confirmed:
        return _illegal(state, "that was already reported")
    # DEL-3: fence, stop and purge come first; only this report lets the DELETE succeed
    return Transition(_confirmed(state, operation), None, ("DEL-3",) if kind == "DurableWorkflow" else ())


def _living(state: State, action: Living) -> Transition:
    resource = state.resources.get(action.uid)
    if resource is None or resource.kind != "WorkerVersion" or action.contexts < 0:
        return _illegal(state, "there is no such Version")
    living = state.living | {action.uid} if action.contexts else state.living - {action.uid}
    return Transition(replace(state, living=living), None)


def _overdue(state: State, now: int) -> frozenset[str]:
    return frozenset(
        item.id for item in state.operations.values() if item.finished and item.retain_until < now
    )


def _expire(state: State, action: Expire) -> Transition:
    overdue = _overdue(state, action.now)
    if not overdue:
        return _illegal(state, "every Operation is still kept")
    kept = {uid: operation for uid, operation in state.operations.items() if uid not in overdue}
    keys = {key: entry for key, entry in state.keys.items() if entry.operation not in overdue}
    return Transition(replace(state, operations=kept, keys=keys, expired=state.expired | overdue), None)


_RULES: Mapping[type, Callable[[State, Any], Transition]] = MappingProxyType(
    {
        Request: requests.handle,
        VerifyBundle: _verify_bundle,
        Verify: _verify,
        Progress: progress.apply,
        Observe: _observe,
        Purged: _stopped,
        Retired: _stopped,
        Living: _living,
        Expire: _expire,
    }
)


def apply(state: State, action: Action) -> Transition:
    """The state after an action, its answer, and the clauses that decided; total and pure."""
    return _RULES[type(action)](state, action)


def enabled(state: State, now: int) -> tuple[Progress | Expire, ...]:
    """The moves that the machine would make by itself at `now` (ms), oldest Operation first."""
    moves = (progress.next_move(state, operation, now) for operation in state.operations.values())
    expiry = (Expire(now),) if _overdue(state, now) else ()
    return (*(move for move in moves if move is not None), *expiry)
