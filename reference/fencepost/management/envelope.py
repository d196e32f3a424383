"""What is common to every call, whatever the Form: the route, the query, the key, the generation, the
body's frame.

Nothing here looks at the state. A call that is malformed is refused with `invalid_request` before anything
is looked up, so such a refusal tells nobody what exists.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fencepost.management.actions import ABSENT, Request
from fencepost.management.problems import Refusal
from fencepost.management.state import Rules
from fencepost.management.values import (
    DECIMAL,
    IDEMPOTENCY_KEY,
    LARGEST_INTEGER,
    digest,
    identifier,
    unsound,
    url_problem,
)

FILTERS = ("form", "name", "space")
_NOT_AN_IDENTIFIER = "use 1 to 128 letters, digits, . _ or -, a letter or digit first"

# Routes below the root: the first word and the number of segments, and the methods that each one has.
_METHODS: Mapping[tuple[str, int], tuple[str, ...]] = MappingProxyType(
    {
        ("support", 1): ("GET",),
        ("resources", 1): ("GET", "POST"),
        ("resources", 2): ("GET", "PUT", "DELETE"),
        ("operations", 2): ("GET",),
    }
)
# Routes of capabilities that this Host does not have.
_UNAVAILABLE = frozenset({("offerings", 1), ("previews", 1), ("operations", 3)})


@dataclass(frozen=True, slots=True)
class Route:
    """Where a call goes: the collection, and the identity below it (empty for the collection itself)."""

    collection: str
    identity: str


@dataclass(frozen=True, slots=True)
class Create:
    """The frame of a create; `extras` are members of capabilities that this Host does not have."""

    form: str
    space: str
    name: str
    spec: dict[str, Any]
    extras: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A list call: how many, after which UID, and the filters by equality."""

    limit: int
    after: str
    filters: tuple[tuple[str, str], ...]


def route(request: Request) -> Route:
    """Find the route of a call: 404 where there is none, 405 where it lacks the method."""
    segments = request.target.split("/")[1:] if request.target.startswith("/") else []
    shape = (segments[0] if segments else "", len(segments))
    if shape in _UNAVAILABLE and (shape != ("operations", 3) or segments[2] == "private-inputs"):
        raise Refusal("capability_unavailable", f"this Host has no {segments[-1]}")
    methods = _METHODS.get(shape)
    if methods is None:
        raise Refusal("not_found", "there is nothing under this path")
    if request.method not in methods:
        raise Refusal("method_not_allowed", f"use {' or '.join(methods)} here", allow=methods)
    identity = segments[1] if len(segments) == 2 else ""
    if len(segments) == 2 and not identifier(identity):
        raise Refusal("not_found", "there is nothing under this path")
    return Route(segments[0], identity)


def sound(request: Request, rules: Rules) -> None:
    """Refuse a body that is no sound JSON value, and one where none belongs."""
    if request.body is ABSENT:
        return
    if request.method not in ("POST", "PUT"):
        raise Refusal("invalid_request", f"send no body with {request.method}")
    if problem := unsound(request.body, rules.maximum_nesting):
        raise Refusal("invalid_request", f"body: {problem}")


def parameters(request: Request, *known: str) -> dict[str, str]:
    """The query as a mapping; an unknown or repeated parameter is refused."""
    for name, times in Counter(name for name, _ in request.query).items():
        if name not in known:
            raise Refusal("invalid_request", f"remove the query parameter {name!r}, it is not known here")
        if times > 1:
            raise Refusal("invalid_request", f"give the query parameter {name!r} once")
    return dict(request.query)


def key(request: Request) -> str:
    """The Idempotency-Key of a mutation; one is required."""
    if request.key is None or not IDEMPOTENCY_KEY.fullmatch(request.key):
        raise Refusal("invalid_request", "send an Idempotency-Key of 16 to 128 letters, digits, . _ : or -")
    return request.key


def generation(request: Request) -> int | None:
    """The expected generation as it was sent, or nothing; a malformed one is refused."""
    if request.generation is None:
        return None
    text = str(request.generation)
    if not DECIMAL.fullmatch(text) or int(text) > LARGEST_INTEGER:
        raise Refusal("invalid_request", "send Takoform-Expected-Generation as a decimal integer")
    return int(text)


def fingerprint(request: Request) -> str:
    """What makes two requests the same: method, path, query, generation and JSON value."""
    body = [] if request.body is ABSENT else [request.body]
    return digest(request.method, request.target, list(request.query), generation(request), body)


def _frame(request: Request, *required: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    body = request.body
    if not isinstance(body, dict):
        raise Refusal("invalid_request", "body: send a JSON object")
    optional = ("offering", "privateInputs") if request.method == "POST" else ("privateInputs",)
    for member in body:
        if member not in (*required, *optional):
            raise Refusal("invalid_request", f"body: remove {member!r}, it is not known here")
    for member in required:
        if member not in body:
            raise Refusal("invalid_request", f"body: add {member!r}")
    for member in ("spec", *optional):
        if member in body and not isinstance(body[member], dict):
            # RES-1: null is refused too, here as a matter of the common frame
            raise Refusal("invalid_request", f"body.{member}: send a JSON object", "RES-1")
    private = body.get("privateInputs", {})
    if not all(isinstance(value, str) for value in private.values()):
        raise Refusal("invalid_request", "body.privateInputs: send strings")
    return body, tuple(m for m in optional if m in body and (m == "offering" or private))


def create(request: Request) -> Create:
    """The frame of a create: Form, Space, name and spec."""
    body, extras = _frame(request, "form", "space", "name", "spec")
    for member in ("space", "name"):
        if not identifier(body[member]):
            raise Refusal("invalid_request", f"body.{member}: {_NOT_AN_IDENTIFIER}")
    form = body["form"]
    problem = url_problem(form) if isinstance(form, str) else "give the Form's URL as a string"
    if problem:
        raise Refusal("invalid_request", f"body.form: {problem}")
    return Create(form, body["space"], body["name"], body["spec"], extras)


def update(request: Request) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The frame of an update: the whole new spec, and members of capabilities that are missing here."""
    body, extras = _frame(request, "spec")
    return body["spec"], extras


def capabilities(extras: tuple[str, ...]) -> None:
    """Refuse what needs a capability that this Host does not have."""
    if extras:
        raise Refusal("capability_required", f"body.{extras[0]}: leave it out, this Host does not offer it")


def _binding(request: Request, filters: tuple[tuple[str, str], ...]) -> str:
    return digest(request.principal, sorted(request.spaces), [list(pair) for pair in filters])


def page(request: Request, rules: Rules) -> Page:
    """A list call; a cursor holds only under the filters, Spaces and principal that it was made for."""
    query = parameters(request, "limit", "cursor", *FILTERS)
    limit = query.get("limit", str(rules.maximum_page_size))
    if not DECIMAL.fullmatch(limit) or not 1 <= int(limit) <= rules.maximum_page_size:
        raise Refusal("invalid_request", f"limit: use 1 to {rules.maximum_page_size}")
    filters = tuple((name, query[name]) for name in FILTERS if name in query)
    for name, value in filters:
        problem = url_problem(value) if name == "form" else None if identifier(value) else _NOT_AN_IDENTIFIER
        if problem:
            raise Refusal("invalid_request", f"{name}: {problem}")
    if "cursor" not in query:
        return Page(int(limit), "", filters)
    try:
        issued, after, bound = json.loads(base64.urlsafe_b64decode(query["cursor"].encode("ascii")))
        issued = int(issued)
    except (ValueError, TypeError):
        raise Refusal("invalid_request", "cursor: send one that this Host gave out") from None
    if bound != _binding(request, filters) or not identifier(after):
        raise Refusal("invalid_request", "cursor: keep the filters and the caller that it was given for")
    if request.now - issued > rules.cursor_seconds * 1000:
        raise Refusal("cursor_expired", "list again from the start")
    return Page(int(limit), after, filters)


def cursor(request: Request, filters: tuple[tuple[str, str], ...], after: str) -> str:
    """An opaque cursor that goes on behind a UID."""
    content = json.dumps([request.now, after, _binding(request, filters)], separators=(",", ":"))
    return base64.urlsafe_b64encode(content.encode("ascii")).decode("ascii")
