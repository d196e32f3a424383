"""What a Host asks of management between two requests; every function is a pure look at the state.

The data plane selects Versions by `weights`, closes what is `closing`, and gives a context the
`environment` of its Version. `unverified`, `unobserved` and `retiring` list what the machine waits for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fencepost.management import dependencies, forms
from fencepost.management.state import Operation, Resource, State, Weights, of_kind, unfinished
from fencepost.management.values import from_text


@dataclass(frozen=True, slots=True)
class Environment:
    """What `env` of a Version holds, and nothing else (ABI-2): variables, and Bindings by Workflow UID."""

    variables: dict[str, Any]
    bindings: dict[str, str]


def weights(state: State, worker: str) -> Weights:
    """The Versions that a new context of this Worker may pin now, with their basis points (CTX-2)."""
    active = state.active.get(worker)
    return active.weights if active is not None else ()


def choose(selection: Weights, point: int) -> str:
    """The Version at a point of 0 to 9999 on the weights; the caller supplies the chance."""
    for uid, weight in selection:
        if point < weight:
            return uid
        point -= weight
    raise ValueError("choose a point below the sum of the weights")


def environment(state: State, version: str) -> Environment:
    """The environment that a Version declares."""
    spec = forms.version(state.resources[version])
    return Environment(from_text(spec.variables), dict(spec.bindings))


def artifact(state: State, version: str) -> forms.Bundle:
    """Where the code of a Version is, and the digest of its manifest."""
    return forms.bundle(state.resources[forms.version(state.resources[version]).bundle])


def workflow(state: State, uid: str) -> forms.Workflow | None:
    """The Worker and class of an undeleted Workflow; nothing where it is gone or never was."""
    resource = state.resources.get(uid)
    return forms.workflow(resource) if resource is not None and resource.kind == "DurableWorkflow" else None


def closing(state: State) -> tuple[str, ...]:
    """The Workflows whose DELETE is accepted and unfinished: no create, event or wake any more (DEL-3)."""
    return tuple(item.uid for item in of_kind(state, "DurableWorkflow") if item.phase == "deleting")


def admission(state: State, uid: str) -> Literal["open", "unready", "closed"]:
    """What a new instance meets: an open Workflow, one not ready (RDY-1), or one closed or gone (DEL-3)."""
    resource = state.resources.get(uid)
    if resource is None or resource.kind != "DurableWorkflow" or resource.phase == "deleting":
        return "closed"
    return "open" if ready(state, uid) else "unready"


def ready(state: State, uid: str) -> bool:
    """Whether new instances of this Workflow can be accepted and run now (OBS-1, RES-4)."""
    resource = state.resources.get(uid)
    if resource is None or resource.kind != "DurableWorkflow" or resource.phase in ("deleting", "error"):
        return False
    spec = forms.workflow(resource)
    selection = weights(state, spec.worker)
    # RES-4: an active Deployment, and every Version that it weighs carries the right class
    return bool(selection) and all(
        dependencies.fitness(state, version, spec.class_name) == "fit" for version, _ in selection
    )


def binders(state: State, uid: str) -> tuple[str, ...]:
    """The undeleted Versions that bind this Workflow, weighted or not (DEL-1)."""
    return dependencies.binders(state, uid)


def _pending(state: State, resource: Resource) -> Operation | None:
    operation = unfinished(state, resource)
    return operation if operation is not None and operation.status in ("running", "reconciling") else None


def unverified(state: State) -> tuple[Resource, ...]:
    """The bundles, then the Versions on sound bundles, whose verification an Operation waits for."""
    bundles = [
        item for item in of_kind(state, "WorkerBundle") if item.finding is None and _pending(state, item)
    ]
    versions = [
        item
        for item in of_kind(state, "WorkerVersion")
        if item.finding is None and _pending(state, item) and _bundle_sound(state, item)
    ]
    return (*bundles, *versions)


def _bundle_sound(state: State, version: Resource) -> bool:
    finding = state.resources[forms.version(version).bundle].finding
    return finding is not None and finding.sound


def unobserved(state: State) -> tuple[str, ...]:
    """The Workflows whose create or update waits for an observation."""
    return tuple(
        item.uid
        for item in of_kind(state, "DurableWorkflow")
        if (operation := _pending(state, item)) and operation.action != "delete" and not operation.confirmed
    )


def retiring(state: State) -> tuple[str, ...]:
    """The Deployments whose DELETE waits for the proof that their contexts have stopped."""
    return tuple(
        item.uid
        for item in of_kind(state, "WorkerDeployment")
        if item.phase == "deleting" and (operation := _pending(state, item)) and not operation.confirmed
    )


def named(state: State, space: str, name: str) -> Resource | None:
    """The undeleted Resource of a name in a Space; for set-ups, never to resolve a reference (RES-5)."""
    return next((r for r in state.resources.values() if r.space == space and r.name == name), None)
