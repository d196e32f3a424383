"""What a request is answered with: JSON objects, and one table from the names of errors to status codes."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from starlette.responses import Response

STATUS: Mapping[str, int] = MappingProxyType(
    {
        # the Form's
        "instance_exists": 409,  # BND-3
        "instance_terminal": 409,  # EVT-2
        "unknown_instance": 404,  # BND-4
        "invalid_params": 400,  # DOC-8
        "document_too_large": 413,  # DOC-8
        "event_queue_full": 429,  # EVT-3
        "backend_unavailable": 503,  # BND-8
        "TypeError": 400,  # BND-9, BND-14, DOC-11
        # of a command id (GRT-3)
        "command_conflict": 409,
        # of HTTP alone
        "bad_request": 400,
        "foreign_origin": 403,
        "not_found": 404,
        "method_not_allowed": 405,
        "request_timeout": 408,
        "body_too_large": 413,
        "misdirected": 421,
        "internal_error": 500,
        "not_yet": 504,
    }
)
"""The status code that goes with an error; whatever else rejects a call is the caller's fault."""

HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


class Refused(Exception):
    """A request that is answered with an error of this name."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message


def answer(value: Any, status: int = 200, headers: Mapping[str, str] = MappingProxyType({})) -> Response:
    """JSON data as a response."""
    return raw(json.dumps(value).encode("ascii"), status, headers)


def raw(text: bytes, status: int = 200, headers: Mapping[str, str] = MappingProxyType({})) -> Response:
    """JSON text as a response, ended with a line feed for whoever reads it in a terminal."""
    return Response(text + b"\n", status, HEADERS | dict(headers), "application/json")


def refusal(error: Refused, headers: Mapping[str, str] = MappingProxyType({})) -> Response:
    """An error as a response."""
    shown = {"error": {"name": error.name, "message": error.message}}
    return answer(shown, STATUS.get(error.name, 400), headers)
