"""A caller's request, from authentication to acceptance.

The order of the checks is the order of the API: who asks, whether the call is well formed, whether the
caller may use the Space or the Resource, whether the key is known (before any generation is looked at), the
generation, a mutation under way, the spec, its references, and at last what other Resources say. Only then
is everything that belongs to an acceptance written in one step: the key, the Operation, the UID, the name
and the generation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from fencepost.management import dependencies, documents, envelope, forms
from fencepost.management.actions import Reply, Request, Transition
from fencepost.management.problems import Refusal, document
from fencepost.management.state import (
    Operation,
    Registration,
    Resource,
    State,
    Verb,
    added,
    unfinished,
    without,
)
from fencepost.management.values import as_text, identifier, url_problem

# RES-8a leaves open which client error refuses a changed spec of a DurableWorkflow.
_CHANGED: Mapping[str, str] = MappingProxyType(
    {
        "invalid-spec": "invalid_spec",
        "conflict": "dependency_conflict",
        "other-client-error": "invalid_request",
    }
)


def handle(state: State, request: Request) -> Transition:
    """Answer one request; a refusal leaves the state as it was."""
    try:
        return _handle(state, request)
    except Refusal as refusal:
        return Transition(
            state, Reply(refusal.status, document(refusal), allow=refusal.allow), tuple(refusal.clauses)
        )


def _handle(state: State, request: Request) -> Transition:
    if request.principal is None:
        raise Refusal("unauthenticated", "authenticate with a scheme that discovery names")
    route = envelope.route(request)
    envelope.sound(request, state.rules)
    if route.collection == "support":
        return Transition(state, _support(request))
    if request.method == "GET":
        if route.collection == "operations":
            return Transition(state, _operation(state, request, route.identity))
        if route.identity:
            return Transition(state, _read(state, request, route.identity), ("OBS-2",))
        return Transition(state, _list(state, request))
    if request.method == "POST":
        return _create(state, request, request.principal)
    return _change(state, request, request.principal, route.identity)


def _support(request: Request) -> Reply:
    form = envelope.parameters(request, "form").get("form")
    problem = "add the query parameter" if form is None else url_problem(form)
    if form is None or problem:
        raise Refusal("invalid_request", f"form: {problem}")
    return Reply(200, documents.support(form))


def _operation(state: State, request: Request, identity: str) -> Reply:
    envelope.parameters(request)
    operation = state.operations.get(identity)
    if operation is None or operation.owner != request.principal or operation.space not in request.spaces:
        raise Refusal("not_found", "there is no such Operation, or it is not yours")
    return Reply(200, documents.operation(operation))


def _owned(state: State, request: Request, uid: str) -> Resource | None:
    """The Resource that the caller may use; nothing where it was deleted; 404 where it is another's."""
    found = state.resources.get(uid) or state.tombstones.get(uid)
    if found is None or found.owner != request.principal or found.space not in request.spaces:
        raise Refusal("not_found", "there is no such Resource, or it is not yours")
    return found if isinstance(found, Resource) else None


def _gone() -> Refusal:
    return Refusal("gone", "this Resource was deleted; its UID does not come back", "DEL-7")


def _read(state: State, request: Request, uid: str) -> Reply:
    envelope.parameters(request)
    resource = _owned(state, request, uid)
    if resource is None:
        raise _gone()
    return Reply(200, documents.resource(resource))


def _list(state: State, request: Request) -> Reply:
    page = envelope.page(request, state.rules)
    wanted = dict(page.filters)
    items = [
        resource
        for uid, resource in sorted(state.resources.items())  # ascending in the ASCII order of UIDs
        if uid > page.after
        and resource.owner == request.principal
        and resource.space in request.spaces
        and wanted.get("space", resource.space) == resource.space
        and wanted.get("name", resource.name) == resource.name
        and wanted.get("form", forms.URLS[resource.kind]) == forms.URLS[resource.kind]
    ]
    more = len(items) > page.limit
    items = items[: page.limit]
    after = envelope.cursor(request, page.filters, items[-1].uid) if more else None
    return Reply(200, {"items": [documents.resource(item) for item in items], "nextCursor": after})


def _accepted(state: State, operation: Operation) -> Reply:
    return Reply(
        200 if operation.finished else 202,
        documents.operation(operation),
        location=f"/operations/{operation.id}",
        retry_after_seconds=None if operation.finished else state.rules.retry_after_seconds,
    )


def _replayed(state: State, request: Request, principal: str) -> Transition | None:
    """The original Operation's present state, where the key is known; no second UID appears (DEL-8)."""
    registration = state.keys.get((principal, envelope.key(request)))
    if registration is None:
        return None
    if registration.fingerprint != envelope.fingerprint(request):
        # the Operation of the other request is named only by its id; it is the caller's own
        raise Refusal(
            "idempotency_conflict",
            "use a new Idempotency-Key for another request",
            operation=registration.operation,
        )
    return Transition(state, _accepted(state, state.operations[registration.operation]), ("DEL-8",))  # DEL-8


def _create(state: State, request: Request, principal: str) -> Transition:
    envelope.parameters(request)
    envelope.key(request)
    envelope.generation(request)
    body = envelope.create(request)
    if body.space not in request.spaces:
        raise Refusal("forbidden", "ask for the right to use this Space")
    if replayed := _replayed(state, request, principal):
        return replayed
    kind = forms.KINDS.get(body.form)
    if kind is None:
        raise Refusal("unsupported_form", "body.form: ask /support which Forms this Host has")
    envelope.capabilities(body.extras)
    forms.check(kind, body.spec)  # RES-1, RES-2
    text = as_text(body.spec)
    spec = forms.view(kind, text)
    dependencies.resolve(state, spec, body.space, principal, request.spaces)  # RES-3
    if any(other.space == body.space and other.name == body.name for other in state.resources.values()):
        # DEL-4: also while a DELETE is unfinished, the name stays taken
        raise Refusal("name_conflict", "body.name: choose another name, this one is taken", "DEL-4")
    clauses: tuple[str, ...] = ()
    if isinstance(spec, forms.Workflow):
        clauses = ("RES-9", *dependencies.admit_workflow(state, spec))  # RES-6
    elif isinstance(spec, forms.Deployment):
        dependencies.admit_deployment(state, spec, own=None)
    if request.uid in state.resources or request.uid in state.tombstones or not identifier(request.uid):
        raise Refusal("internal_error", "the Host issued a UID that is not fresh", "DEL-7")  # DEL-7
    resource = Resource(
        uid=request.uid,  # RES-9: the UID and its empty instance id space exist from here on
        kind=kind,
        space=body.space,
        name=body.name,
        owner=principal,
        spec=text,
        generation=1,
        last_operation=request.operation,
    )
    return _accept(state, request, resource, "create", clauses)


def _change(state: State, request: Request, principal: str, uid: str) -> Transition:
    envelope.parameters(request)
    envelope.key(request)
    expected = envelope.generation(request)
    frame = envelope.update(request) if request.method == "PUT" else None
    resource = _owned(state, request, uid)
    if replayed := _replayed(state, request, principal):  # before the generation is looked at
        return replayed
    if resource is None:
        raise _gone()
    if expected is None:
        raise Refusal("expected_generation_required", "send Takoform-Expected-Generation")
    if expected != resource.generation:
        raise Refusal("generation_conflict", "read the Resource and decide again")
    if frame is None:
        clauses = dependencies.admit_delete(state, resource)  # DEL-1
        _idle(state, resource)
        return _accept(state, request, replace(resource, phase="deleting"), "delete", clauses)
    _idle(state, resource)
    spec, extras = frame
    envelope.capabilities(extras)
    forms.check(resource.kind, spec)  # RES-1
    return _update(state, request, principal, resource, as_text(spec))


def _idle(state: State, resource: Resource) -> None:
    if busy := unfinished(state, resource):
        raise Refusal(
            "resource_busy", "wait for the Operation that is under way", "DEL-9", operation=busy.id
        )  # DEL-9


def _update(state: State, request: Request, principal: str, resource: Resource, text: str) -> Transition:
    old, new = forms.view(resource.kind, resource.spec), forms.view(resource.kind, text)
    clauses: tuple[str, ...] = ("RES-8",) if resource.kind == "DurableWorkflow" else ()
    if isinstance(old, forms.Deployment) and isinstance(new, forms.Deployment):
        if old.worker != new.worker:
            raise Refusal("invalid_spec", "spec.worker: keep it, or create another Deployment")
        dependencies.resolve(state, new, resource.space, principal, request.spaces)
        dependencies.admit_deployment(state, new, own=resource.uid)
    elif old != new:
        code = _CHANGED[state.rules.changed_spec] if clauses else "invalid_spec"
        raise Refusal(code, "spec: keep it as it is; this Form allows no change", *clauses)  # RES-8
    finding = resource.finding
    if finding is not None and not finding.sound:
        finding = None  # an explicit PUT verifies again what was found unsound
    return _accept(
        state, request, replace(resource, phase="pending", spec=text, finding=finding), "update", clauses
    )


def _accept(
    state: State, request: Request, resource: Resource, verb: Verb, clauses: tuple[str, ...]
) -> Transition:
    """Write the key, the Operation and the record in one step."""
    if request.operation in state.operations or request.operation in state.expired:
        raise Refusal("internal_error", "the Host issued an Operation id that is not fresh")
    if not identifier(request.operation):
        raise Refusal("internal_error", "the Host issued a malformed Operation id")
    generation = 1 if verb == "create" else resource.generation + 1
    operation = Operation(
        id=request.operation,
        resource_uid=resource.uid,
        action=verb,
        generation=generation,
        space=resource.space,
        owner=resource.owner,
        created_at=request.now,
        updated_at=request.now,
        retain_until=request.now + state.rules.replay_window_seconds * 1000,
    )
    registration = Registration(envelope.fingerprint(request), operation.id)
    accepted = replace(
        state,
        resources=added(
            state.resources,
            resource.uid,
            replace(resource, generation=generation, last_operation=operation.id),
        ),
        operations=added(state.operations, operation.id, operation),
        keys=added(state.keys, (resource.owner, envelope.key(request)), registration),
    )
    if verb == "delete" and resource.kind == "WorkerDeployment":
        accepted = _deselected(accepted, resource)
    return Transition(accepted, _accepted(accepted, operation), clauses)


def _deselected(state: State, deployment: Resource) -> State:
    """From its accepted DELETE on a Deployment selects for no new context."""
    worker = forms.deployment(deployment).worker
    active = state.active.get(worker)
    if active is None or active.deployment != deployment.uid:
        return state
    return replace(state, active=without(state.active, worker))
