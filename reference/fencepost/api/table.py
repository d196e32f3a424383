"""The calls of Host API v2 as one table: what the OpenAPI document says is generated from it.

The machine routes for itself; a test holds the two against each other. `{root}` stands for the path of the
API, which discovery tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

ROOT = "/apis/forms.takoform.com/v2"
DISCOVERY = "/.well-known/takoform/v2"
OPENAPI = "/openapi.json"
DOCUMENTATION = "/documentation"

KEY = "Idempotency-Key"
GENERATION = "Takoform-Expected-Generation"

# Any authenticated call can be refused with these; what is said of a path and a method comes before the rest.
_COMMON = (
    "invalid_request",
    "unauthenticated",
    "forbidden",
    "not_found",
    "request_too_large",
    "unsupported_media_type",
    "internal_error",
    "temporarily_unavailable",
)
_PUBLIC = ("invalid_request", "forbidden", "internal_error")
_MUTATION = ("idempotency_conflict", "dependency_conflict", "resource_busy")


@dataclass(frozen=True, slots=True)
class Call:
    """One call: how it is made, what a success carries, and with which codes it can be refused."""

    name: str
    method: str
    path: str
    summary: str
    success: Mapping[int, str]
    codes: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    body: str | None = None
    authenticated: bool = True

    @property
    def refusals(self) -> tuple[str, ...]:
        """Every code that can refuse this call."""
        return (*_COMMON, *self.codes) if self.authenticated else _PUBLIC

    @property
    def segments(self) -> tuple[str, ...]:
        """The parts of the path below the root."""
        return tuple(self.path.removeprefix("{root}").strip("/").split("/"))


_ACCEPTED: Mapping[int, str] = MappingProxyType({200: "Operation", 202: "Operation"})

CALLS: tuple[Call, ...] = (
    Call(
        "discover",
        "GET",
        DISCOVERY,
        "What this Host is, where its API is, and how to authenticate.",
        {200: "Discovery"},
        authenticated=False,
    ),
    Call(
        "support",
        "GET",
        "{root}/support",
        "Whether a Form is supported. Its URL is compared, and never fetched.",
        {200: "Support"},
        query=("form",),
    ),
    Call(
        "list",
        "GET",
        "{root}/resources",
        "The Resources that the caller may see, in the ASCII order of their UIDs.",
        {200: "Page"},
        codes=("cursor_expired",),
        query=("limit", "cursor", "form", "name", "space"),
    ),
    Call(
        "create",
        "POST",
        "{root}/resources",
        "Create a Resource: an Operation that goes on by itself.",
        _ACCEPTED,
        codes=(
            "name_conflict",
            "unsupported_form",
            "invalid_spec",
            "capability_required",
            *_MUTATION,
        ),
        headers=(KEY,),
        body="Create",
    ),
    Call(
        "read",
        "GET",
        "{root}/resources/{uid}",
        "The management record of a Resource, and the last observation.",
        {200: "Resource"},
        codes=("gone",),
    ),
    Call(
        "update",
        "PUT",
        "{root}/resources/{uid}",
        "Replace the spec of a Resource.",
        _ACCEPTED,
        codes=(
            "gone",
            "generation_conflict",
            "unsupported_form",
            "invalid_spec",
            "capability_required",
            "expected_generation_required",
            *_MUTATION,
        ),
        headers=(KEY, GENERATION),
        body="Update",
    ),
    Call(
        "delete",
        "DELETE",
        "{root}/resources/{uid}",
        "Delete a Resource. Nothing cascades.",
        _ACCEPTED,
        codes=("gone", "generation_conflict", "expected_generation_required", *_MUTATION),
        headers=(KEY, GENERATION),
    ),
    Call(
        "operation",
        "GET",
        "{root}/operations/{id}",
        "An Operation as it is now.",
        {200: "Operation"},
    ),
)


def methods(path: str) -> tuple[str, ...]:
    """The methods of a path of the table."""
    return tuple(call.method for call in CALLS if call.path == path)
