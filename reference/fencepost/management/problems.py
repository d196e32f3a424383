"""Problem codes of the management API, and the refusal that carries one.

A refusal happens before acceptance: nothing was reserved, no Operation exists and no generation moved. The
table below is the whole vocabulary; its order is that of the HTTP status. What goes wrong after acceptance
is told by the Operation instead and never becomes one of these (RES-7).
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

STATUS_OF: Mapping[str, int] = MappingProxyType(
    {
        "invalid_request": 400,
        "unauthenticated": 401,
        "forbidden": 403,
        "not_found": 404,
        "capability_unavailable": 404,
        "method_not_allowed": 405,
        "name_conflict": 409,
        "generation_conflict": 409,
        "resource_busy": 409,
        "idempotency_conflict": 409,
        "dependency_conflict": 409,
        "cursor_expired": 409,
        "gone": 410,
        "request_too_large": 413,
        "unsupported_media_type": 415,
        "unsupported_form": 422,
        "invalid_spec": 422,
        "capability_required": 422,
        "expected_generation_required": 428,
        "rate_limited": 429,
        "internal_error": 500,
        "temporarily_unavailable": 503,
    }
)


class Refusal(Exception):
    """A request is refused before any effect; `clauses` names the sentences that refuse it."""

    def __init__(
        self,
        code: str,
        detail: str,
        *clauses: str,
        allow: tuple[str, ...] = (),
        operation: str | None = None,
    ) -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail
        self.clauses = clauses
        self.allow = allow
        self.operation = operation

    @property
    def status(self) -> int:
        """The HTTP status that goes with the code."""
        return STATUS_OF[self.code]


def document(refusal: Refusal) -> dict[str, object]:
    """The problem document of a refusal (RFC 9457, with the stable `code`)."""
    problem: dict[str, object] = {
        "type": "about:blank",
        "title": HTTPStatus(refusal.status).phrase,
        "status": refusal.status,
        "code": refusal.code,
        "detail": refusal.detail,
    }
    if refusal.operation is not None:
        problem["operationId"] = refusal.operation
    return problem
