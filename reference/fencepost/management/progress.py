"""How an accepted Operation goes on: the allowed moves, and what decides its outcome.

`MOVES` is the API's table. Within it an Operation succeeds only when its `verdict` says so, which is a pure
look at the state: a verification has ended, the data plane has confirmed a purge, every weighted Version
fits. So a DELETE of a DurableWorkflow cannot succeed before its purge is reported, and cannot fail either:
it goes on reconciling (DEL-4). What was accepted ends in the Operation, and never turns into a refusal
afterwards (RES-7).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from fencepost.management import dependencies, forms
from fencepost.management.actions import Illegal, Progress, Transition
from fencepost.management.state import (
    Active,
    Effect,
    Kind,
    Operation,
    OperationStatus,
    Resource,
    State,
    Tombstone,
    Verb,
    Weights,
    added,
    without,
)
from fencepost.management.values import as_text

MOVES: Mapping[OperationStatus, frozenset[OperationStatus]] = MappingProxyType(
    {
        "queued": frozenset({"running", "waiting_input"}),
        "running": frozenset({"succeeded", "failed", "reconciling", "waiting_input"}),
        "waiting_input": frozenset({"queued"}),
        "reconciling": frozenset({"running", "succeeded", "failed"}),
        "succeeded": frozenset(),
        "failed": frozenset(),
    }
)

# The effects that each status may tell, the usual one first; unknown is never terminal.
EFFECTS: Mapping[OperationStatus, tuple[Effect, ...]] = MappingProxyType(
    {
        "queued": ("none",),
        "running": ("unknown", "none", "partial"),
        "waiting_input": ("none",),
        "reconciling": ("unknown", "partial", "none"),
        "succeeded": ("complete",),
        "failed": ("none", "partial"),
    }
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Where an Operation stands: done, failed for a reason, or waiting for a report."""

    outcome: Literal["succeeded", "failed", "waiting"]
    error: tuple[str, str] | None = None


DONE = Verdict("succeeded")
WAITING = Verdict("waiting")


def _at_once(state: State, resource: Resource, operation: Operation) -> Verdict:
    return DONE


def _confirmed(state: State, resource: Resource, operation: Operation) -> Verdict:
    return DONE if operation.confirmed else WAITING  # DEL-4


def _verified(state: State, resource: Resource, operation: Operation) -> Verdict:
    finding = resource.finding
    if finding is None:
        if resource.kind == "WorkerVersion":
            bundle = state.resources[forms.version(resource).bundle].finding
            if bundle is not None and not bundle.sound:
                return Verdict("failed", ("verification_failed", f"the bundle: {bundle.detail}"))
        return WAITING
    return DONE if finding.sound else Verdict("failed", ("verification_failed", finding.detail))


def _fitting(state: State, resource: Resource, operation: Operation) -> Verdict:
    # that no other Deployment of the Worker is active was settled at acceptance, and stays so
    fitness, reason = dependencies.misfit(state, forms.deployment(resource))
    if fitness == "unfit":
        return Verdict("failed", ("dependency_conflict", reason))  # RES-7: told by the Operation
    return DONE if fitness == "fit" else WAITING


_Rule = Callable[[State, Resource, Operation], Verdict]
_VERDICTS: Mapping[tuple[Kind, Verb], _Rule] = MappingProxyType(
    {
        ("ModuleWorker", "create"): _at_once,
        ("ModuleWorker", "update"): _at_once,
        ("ModuleWorker", "delete"): _at_once,
        ("WorkerBundle", "create"): _verified,
        ("WorkerBundle", "update"): _verified,
        ("WorkerBundle", "delete"): _at_once,
        ("WorkerVersion", "create"): _verified,
        ("WorkerVersion", "update"): _verified,
        ("WorkerVersion", "delete"): _at_once,
        ("WorkerDeployment", "create"): _fitting,
        ("WorkerDeployment", "update"): _fitting,
        ("WorkerDeployment", "delete"): _confirmed,
        ("DurableWorkflow", "create"): _confirmed,
        ("DurableWorkflow", "update"): _confirmed,
        ("DurableWorkflow", "delete"): _confirmed,
    }
)


def verdict(state: State, operation: Operation) -> Verdict:
    """Where an unfinished Operation stands."""
    resource = state.resources[operation.resource_uid]
    return _VERDICTS[resource.kind, operation.action](state, resource, operation)


def stops_first(state: State, operation: Operation) -> bool:
    """Whether the Operation ends only with a proven stop in the data plane."""
    kind = state.resources[operation.resource_uid].kind
    return operation.action == "delete" and kind in ("DurableWorkflow", "WorkerDeployment")


def next_move(state: State, operation: Operation, now: int) -> Progress | None:
    """The move that the machine makes by itself, if there is one."""
    if operation.finished:
        return None
    if operation.status == "queued":
        return Progress(now, operation.id, "running")
    standing = verdict(state, operation)
    if standing.outcome != "waiting":
        return Progress(now, operation.id, standing.outcome, error=standing.error)
    if operation.status == "running" and stops_first(state, operation):
        return Progress(now, operation.id, "reconciling")  # DEL-4: the same Operation goes on
    return None


def _objection(state: State, operation: Operation, move: Progress) -> str | None:
    if move.status not in MOVES[operation.status]:
        return f"an Operation does not go from {operation.status} to {move.status}"
    if move.status == "waiting_input":
        return "no Form of this Host has private inputs to wait for"
    if move.effect is not None and move.effect not in EFFECTS[move.status]:
        return f"{move.status} does not have the effect {move.effect}"
    if (move.status == "failed") != (move.error is not None) and move.status != "reconciling":
        return "an error belongs to failed, and may stand with reconciling"
    if move.status == "succeeded" and verdict(state, operation).outcome != "succeeded":
        return "the Operation is not done"  # DEL-4
    if move.status == "failed" and stops_first(state, operation):
        return "a DELETE whose stop is unproven goes on reconciling"  # DEL-4
    return None


def apply(state: State, move: Progress) -> Transition:
    """Take one move; one that is not allowed leaves the state as it was."""
    operation = state.operations.get(move.operation)
    if operation is None:
        return Transition(state, Illegal("there is no such Operation"))
    if reason := _objection(state, operation, move):
        return Transition(state, Illegal(reason))
    now = max(move.now, operation.updated_at)
    finished = move.status in ("succeeded", "failed")
    window = now + state.rules.replay_window_seconds * 1000
    moved = replace(
        operation,
        status=move.status,
        effect=move.effect or EFFECTS[move.status][0],
        error=move.error,
        updated_at=now,
        retain_until=max(operation.retain_until, window) if finished else operation.retain_until,
    )
    state = replace(state, operations=added(state.operations, moved.id, moved))
    resource = state.resources[operation.resource_uid]
    clauses = ("DEL-4", "DEL-6") if resource.kind == "DurableWorkflow" and moved.action == "delete" else ()
    if move.status == "succeeded":
        state = (
            _deleted(state, resource, now) if moved.action == "delete" else _settled(state, resource, moved)
        )
    elif move.status == "failed":
        state = _failed(state, resource, now)
    return Transition(state, None, clauses)


def _settled(state: State, resource: Resource, operation: Operation) -> State:
    """A create or update is done: the Resource is idle and its generation is confirmed."""
    settled = replace(resource, phase="idle", observed_generation=operation.generation)
    state = replace(state, resources=added(state.resources, resource.uid, settled))
    now = operation.updated_at
    match resource.kind:
        case "WorkerVersion":
            found = {"ready": True, "resolvedBindings": True, "bundleVerified": True}
            return noted(state, resource.uid, found, now)
        case "ModuleWorker":
            return _worker_noted(state, resource.uid, now)
        case "WorkerDeployment":
            spec = forms.deployment(resource)
            active = Active(resource.uid, spec.weights)  # from here on, and all at once
            state = replace(state, active=added(state.active, spec.worker, active))
            return _worker_noted(_deployment_noted(state, resource.uid, now), spec.worker, now)
    return state


def _failed(state: State, resource: Resource, now: int) -> State:
    """An Operation failed: the Resource stays, in error, with the weights that were in force."""
    state = replace(state, resources=added(state.resources, resource.uid, replace(resource, phase="error")))
    if resource.kind == "WorkerDeployment":
        return _deployment_noted(state, resource.uid, now)
    return state


def _deleted(state: State, resource: Resource, now: int) -> State:
    """A DELETE is done: off the lists, name free, UID used up; nothing else is touched (DEL-6, DEL-7)."""
    state = replace(
        state,
        resources=without(state.resources, resource.uid),
        tombstones=added(
            state.tombstones, resource.uid, Tombstone(resource.uid, resource.space, resource.owner)
        ),  # DEL-7
        living=state.living - {resource.uid},
    )
    if resource.kind == "WorkerDeployment":
        return _worker_noted(state, forms.deployment(resource).worker, now)
    return state


def noted(state: State, uid: str, observed: Mapping[str, object], now: int) -> State:
    """An observation: what was found, and when; the confirmed generation is another matter."""
    resource = replace(state.resources[uid], observed=as_text(observed), observed_at=now)
    return replace(state, resources=added(state.resources, uid, resource))


def _worker_noted(state: State, uid: str, now: int) -> State:
    active = state.active.get(uid)
    found = {"activeDeploymentUid": active.deployment if active else None, "ready": active is not None}
    return noted(state, uid, found, now)


def _deployment_noted(state: State, uid: str, now: int) -> State:
    active = state.active.get(forms.deployment(state.resources[uid]).worker)
    weights: Weights = active.weights if active is not None and active.deployment == uid else ()
    found = {
        "ready": bool(weights),
        "active": bool(weights),
        "selectedVersions": [{"resourceUid": version, "weight": weight} for version, weight in weights],
    }
    return noted(state, uid, found, now)
