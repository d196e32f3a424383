"""Who needs whom: references before acceptance, fitness of Versions, and what stands in the way of a
DELETE.

Two words are kept apart (DEL-9). `dependency_conflict` is a standing fact that the caller has to change: a
class that is missing, a Binding that survives. `resource_busy` is a moment that passes by itself: a
verification or a mutation that is still under way. Nothing is looked up by name here, and nothing is
"latest": only UIDs (RES-5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from fencepost.management import forms
from fencepost.management.problems import Refusal
from fencepost.management.state import Kind, Resource, State, Weights, of_kind, unfinished

Fitness = Literal["fit", "unfit", "undecided"]


def visible(resource: Resource, principal: str, spaces: frozenset[str]) -> bool:
    """Whether a principal may use a Resource: it owns it, and may use its Space."""
    return resource.owner == principal and resource.space in spaces


def resolve(state: State, spec: forms.Spec, space: str, principal: str, spaces: frozenset[str]) -> None:
    """Refuse references that name no usable Resource of the right Form in this Space (RES-3, RES-4)."""
    clauses = ("RES-3",) if isinstance(spec, forms.Workflow) else ()
    busy: str | None = None
    for reference in forms.references(spec):
        found = state.resources.get(reference.uid)  # RES-5: by UID, never by name
        if (
            found is None  # RES-4
            or found.kind != reference.kind
            or found.space != space
            or not visible(found, principal, spaces)
        ):
            # RES-3: one answer for all four, so that it tells nothing about what others own
            raise Refusal(
                "invalid_spec",
                f"{reference.path}: name a {reference.kind} of this Space by its UID",
                *clauses,
            )
        if found.phase == "deleting":
            busy = reference.path
    if busy is not None:
        raise Refusal("resource_busy", f"{busy}: wait, it is being deleted", "DEL-9")  # DEL-9
    if isinstance(spec, forms.Deployment):
        for uid, _ in spec.weights:
            if forms.version(state.resources[uid]).worker != spec.worker:
                raise Refusal("invalid_spec", "spec.versions: name Versions of spec.worker only")


def fitness(state: State, version: str, class_name: str) -> Fitness:
    """Whether a Version provides a Workflow class with the right ABI, as far as its verification has come."""
    finding = state.resources[version].finding
    if finding is None:
        return "undecided"  # RES-6: unverified is not called unfit
    return "fit" if finding.sound and dict(finding.exports).get(class_name) is True else "unfit"  # ABI-1


def planned_weights(state: State, worker: str) -> tuple[Weights, ...]:
    """The weights in force, and those of every accepted, unfinished Deployment create or update (RES-6)."""
    planned = [active.weights for uid, active in state.active.items() if uid == worker]
    for deployment in of_kind(state, "WorkerDeployment"):
        operation = unfinished(state, deployment)
        if operation is not None and operation.action != "delete":
            spec = forms.deployment(deployment)
            planned.extend([spec.weights] if spec.worker == worker else [])
    return tuple(planned)


def admit_workflow(state: State, spec: forms.Workflow) -> tuple[str, ...]:
    """Refuse a Workflow whose class a weighted Version lacks, or may lack (RES-6, RES-11)."""
    found = {
        fitness(state, version, spec.class_name)
        for weights in planned_weights(state, spec.worker)
        for version, _ in weights
    }
    if "unfit" in found:  # RES-11: a known misfit beats an undecided Version
        clauses = ("RES-6", "RES-11") if "undecided" in found else ("RES-6",)
        raise Refusal(
            "dependency_conflict", f"deploy only Versions that export {spec.class_name} first", *clauses
        )
    if "undecided" in found:
        raise Refusal("resource_busy", "wait until every weighted Version is verified", "RES-6")  # RES-6
    return ("RES-6",) if found else ("RES-4", "RES-6")


def admit_deployment(state: State, spec: forms.Deployment, own: str | None) -> None:
    """Refuse a second Deployment for a Worker: standing if one is active, passing while one comes or goes."""
    active = state.active.get(spec.worker)
    if active is not None and active.deployment != own:
        raise Refusal("dependency_conflict", "update or delete the active Deployment of this Worker")
    for other in of_kind(state, "WorkerDeployment"):
        if other.uid != own and forms.deployment(other).worker == spec.worker and unfinished(state, other):
            raise Refusal("resource_busy", "wait, another Deployment of this Worker is changing")


def misfit(state: State, spec: forms.Deployment) -> tuple[Fitness, str]:
    """Whether weights may become active: every Version is sound and fit for every undeleted Workflow."""
    classes = sorted(
        {
            forms.workflow(
                workflow
            ).class_name  # also where its create is only accepted, or its delete unfinished
            for workflow in of_kind(state, "DurableWorkflow")
            if forms.workflow(workflow).worker == spec.worker
        }
    )
    undecided = False
    for uid, _ in spec.weights:
        finding = state.resources[uid].finding
        undecided = undecided or finding is None
        if finding is not None and not finding.sound:
            return "unfit", f"Version {uid} is not sound: {finding.detail}"
        for class_name in classes:
            if fitness(state, uid, class_name) == "unfit":
                return "unfit", f"Version {uid} does not provide {class_name}"
    return ("undecided", "") if undecided else ("fit", "")


def binders(state: State, workflow: str) -> tuple[str, ...]:
    """Every undeleted Version whose `workflowBindings` name this Workflow, weighted or not (DEL-1)."""
    return tuple(
        version.uid
        for version in of_kind(state, "WorkerVersion")
        if any(uid == workflow for _, uid in forms.version(version).bindings)
    )


def _names(state: State, uid: str, *kinds: Kind) -> str | None:
    for kind in kinds:
        for resource in of_kind(state, kind):
            spec = forms.view(kind, resource.spec)
            if any(reference.uid == uid for reference in forms.references(spec)):
                return f"delete the {kind} {resource.uid} that names it first"
    return None


def _worker_in_the_way(state: State, uid: str) -> str | None:
    return _names(state, uid, "WorkerVersion", "WorkerDeployment", "DurableWorkflow")


def _bundle_in_the_way(state: State, uid: str) -> str | None:
    return _names(state, uid, "WorkerVersion")


def _version_in_the_way(state: State, uid: str) -> str | None:
    for active in state.active.values():
        if any(version == uid for version, _ in active.weights):
            return f"take it out of the weights of {active.deployment} first"
    if uid in state.living:
        return "wait until no context runs it any more"
    return _names(state, uid, "WorkerDeployment")


def _workflow_in_the_way(state: State, uid: str) -> str | None:
    # DEL-1: the only ground; neither live instances nor a Version that exports the class without binding it
    bound = binders(state, uid)
    return f"delete the WorkerVersion {bound[0]} that binds it first" if bound else None


_IN_THE_WAY: Mapping[Kind, Callable[[State, str], str | None]] = MappingProxyType(
    {
        "ModuleWorker": _worker_in_the_way,
        "WorkerBundle": _bundle_in_the_way,
        "WorkerVersion": _version_in_the_way,
        "WorkerDeployment": lambda state, uid: None,
        "DurableWorkflow": _workflow_in_the_way,
    }
)


def admit_delete(state: State, resource: Resource) -> tuple[str, ...]:
    """Refuse a DELETE while something names the Resource; nothing cascades (DEL-1, DEL-6)."""
    clauses = ("DEL-1",) if resource.kind == "DurableWorkflow" else ()
    if reason := _IN_THE_WAY[resource.kind](state, resource.uid):
        raise Refusal("dependency_conflict", reason, *clauses)  # DEL-1
    return clauses
