"""What the management machine knows: Resources, Operations, keys, and which weights are in force.

Everything here is frozen, and a mapping is replaced, never changed in place, so an older state stays what
it was. Documents (`spec`, `observed`) are kept as JSON text. A Resource that was deleted leaves a
`Tombstone` behind, which is how its UID is known never to come back (RES-9, DEL-7). Which Deployment
selects for a Worker is a fact of its own (`active`), because an accepted update does not move the weights
until every Version is known to fit (RES-6).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

Kind = Literal["ModuleWorker", "WorkerBundle", "WorkerVersion", "WorkerDeployment", "DurableWorkflow"]
Phase = Literal["pending", "idle", "deleting", "error"]
Verb = Literal["create", "update", "delete"]
OperationStatus = Literal["queued", "running", "waiting_input", "reconciling", "succeeded", "failed"]
Effect = Literal["none", "unknown", "partial", "complete"]
Weights = tuple[tuple[str, int], ...]

TERMINAL: frozenset[OperationStatus] = frozenset({"succeeded", "failed"})

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Rules:
    """What a Host decides for itself: page sizes, windows, and the points that the Form leaves open."""

    maximum_page_size: int = 100
    maximum_nesting: int = 64
    maximum_request_bytes: int = 4_194_304
    replay_window_seconds: int = 86_400
    cursor_seconds: int = 3_600
    retry_after_seconds: int = 1
    changed_spec: Literal["invalid-spec", "conflict", "other-client-error"] = "invalid-spec"  # RES-8a
    terminal_counts: Literal["counted", "not-counted"] = "counted"  # OBS-3, for the data plane that counts
    unready_create: Literal["rejected", "accepted-queued"] = (
        "rejected"  # RDY-1, for the data plane that creates
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """What a verification found: the bytes or the exports are sound, or why they are not."""

    sound: bool
    exports: tuple[tuple[str, bool], ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """One management record, identified by UID; `spec` and `observed` are JSON text."""

    uid: str
    kind: Kind
    space: str
    name: str
    owner: str
    spec: str
    generation: int
    last_operation: str
    phase: Phase = "pending"
    observed: str = "{}"
    observed_at: int | None = None
    observed_generation: int = 0
    finding: Finding | None = None


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is left of a deleted Resource: enough to answer its owner, and to keep the UID used up."""

    uid: str
    space: str
    owner: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One accepted mutation; `confirmed` says that the data plane has answered for it since."""

    id: str
    resource_uid: str
    action: Verb
    generation: int
    space: str
    owner: str
    created_at: int
    updated_at: int
    retain_until: int
    status: OperationStatus = "queued"
    effect: Effect = "none"
    error: tuple[str, str] | None = None
    confirmed: bool = False

    @property
    def finished(self) -> bool:
        """Whether the Operation is terminal and will never change again."""
        return self.status in TERMINAL


@dataclass(frozen=True, slots=True)
class Registration:
    """An Idempotency-Key that accepted an Operation, with the fingerprint of the request."""

    fingerprint: str
    operation: str


@dataclass(frozen=True, slots=True)
class Active:
    """The Deployment that selects for a Worker, and the weights in force."""

    deployment: str
    weights: Weights


@dataclass(frozen=True, slots=True)
class State:
    """The whole of management; keys of `keys` are (principal, Idempotency-Key)."""

    rules: Rules = Rules()
    resources: Mapping[str, Resource] = field(default_factory=dict)
    tombstones: Mapping[str, Tombstone] = field(default_factory=dict)
    operations: Mapping[str, Operation] = field(default_factory=dict)
    expired: frozenset[str] = frozenset()
    keys: Mapping[tuple[str, str], Registration] = field(default_factory=dict)
    active: Mapping[str, Active] = field(default_factory=dict)
    living: frozenset[str] = frozenset()


def added(mapping: Mapping[Key, Value], key: Key, value: Value) -> Mapping[Key, Value]:
    """The mapping with one entry set; the old one stays as it is."""
    return {**mapping, key: value}


def without(mapping: Mapping[Key, Value], key: Key) -> Mapping[Key, Value]:
    """The mapping with one entry left out; the old one stays as it is."""
    return {other: value for other, value in mapping.items() if other != key}


def unfinished(state: State, resource: Resource) -> Operation | None:
    """The mutation of this Resource that is still under way, if any; there is at most one."""
    operation = state.operations.get(resource.last_operation)
    return operation if operation is not None and not operation.finished else None


def of_kind(state: State, kind: Kind) -> tuple[Resource, ...]:
    """Every undeleted Resource of one Form, those being deleted included."""
    return tuple(resource for resource in state.resources.values() if resource.kind == kind)
