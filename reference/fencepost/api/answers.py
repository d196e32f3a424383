"""What a request is answered with: JSON documents, problem details, and the headers that the API names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from starlette.responses import Response

from fencepost.management.actions import Reply
from fencepost.management.problems import Refusal, document

JSON = "application/json"
PROBLEM = "application/problem+json"
NOTHING: Mapping[str, str] = MappingProxyType({})

_ALWAYS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_RETRY_SECONDS = 1
_RETRIED = frozenset({429, 503})


def answer(value: Any, status: int = 200, headers: Mapping[str, str] = NOTHING, kind: str = JSON) -> Response:
    """JSON data as a response that no cache keeps."""
    return Response(json.dumps(value).encode("ascii") + b"\n", status, _ALWAYS | dict(headers), kind)


def replied(reply: Reply, base_url: str, challenge: str | None = None) -> Response:
    """The machine's reply as a response: absolute Location, Retry-After, Allow and WWW-Authenticate."""
    headers: dict[str, str] = {}
    if reply.location is not None:
        headers["location"] = base_url + reply.location
    if reply.retry_after_seconds is not None:
        headers["retry-after"] = str(reply.retry_after_seconds)
    if reply.allow:
        headers["allow"] = ", ".join(reply.allow)
    if reply.status == 401 and challenge is not None:
        headers["www-authenticate"] = challenge
    if reply.status in _RETRIED:
        headers.setdefault("retry-after", str(_RETRY_SECONDS))
    kind = JSON if reply.code is None else PROBLEM
    return answer(reply.body, reply.status, headers, kind)


def refused(refusal: Refusal) -> Reply:
    """A refusal that the face itself makes, as the machine would have made it."""
    return Reply(refusal.status, document(refusal), allow=refusal.allow)
