"""The OpenAPI document, generated: from the table of calls, the schemas, and the machine's problem codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

from fencepost.api import shapes
from fencepost.api.answers import JSON, PROBLEM
from fencepost.api.table import CALLS, GENERATION, KEY, Call
from fencepost.management import documents
from fencepost.management.problems import STATUS_OF
from fencepost.management.state import Rules

_TEXT = {"type": "string"}
_WHOLE = {"type": "string", "pattern": "^[0-9]+$"}


def _header(schema: Mapping[str, Any], description: str) -> dict[str, Any]:
    return {"required": True, "description": description, "schema": dict(schema)}


_LOCATION = {"Location": _header(_TEXT, "The absolute address of the Operation.")}
_RETRY = {"Retry-After": _header(_WHOLE, "Seconds to wait before asking again.")}
_CHALLENGE = {"WWW-Authenticate": _header(_TEXT, "How to authenticate.")}
_CACHE = {"Cache-Control": _header({"const": "no-store"}, "No answer is kept by a cache.")}


def _headers(call: Call, status: int) -> dict[str, Any]:
    accepted = _LOCATION if call.success.get(status) == "Operation" and call.method != "GET" else {}
    retried = _RETRY if status in (202, 429, 503) else {}
    return _CACHE | accepted | retried | (_CHALLENGE if status == 401 else {})


def _content(kind: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {kind: {"schema": dict(schema)}}


def _responses(call: Call) -> dict[str, Any]:
    found: dict[str, Any] = {
        str(status): {
            "description": f"{shape}.",
            "headers": _headers(call, status),
            "content": _content(JSON, shapes.reference(shape)),
        }
        for status, shape in call.success.items()
    }
    for status, codes in _by_status(call.refusals).items():
        found[str(status)] = {
            "description": f"Refused: {', '.join(codes)}.",
            "headers": _headers(call, status),
            "content": _content(PROBLEM, shapes.problem(codes)),
        }
    return found


def _by_status(codes: Iterable[str]) -> dict[int, list[str]]:
    grouped: dict[int, list[str]] = {}
    for code in sorted(codes):
        grouped.setdefault(STATUS_OF[code], []).append(code)
    return dict(sorted(grouped.items()))


def _parameters(call: Call, rules: Rules) -> list[dict[str, Any]]:
    known = {
        "form": shapes.https(),
        "name": shapes.identifier(),
        "space": shapes.identifier(),
        "limit": {"type": "integer", "minimum": 1, "maximum": rules.maximum_page_size},
        "cursor": _TEXT,
        KEY: shapes.idempotency_key(),
        GENERATION: shapes.integer(),
    }
    in_path = [segment[1:-1] for segment in call.segments if segment.startswith("{")]
    return [
        *({"in": "path", "name": n, "required": True, "schema": shapes.identifier()} for n in in_path),
        *(
            {"in": "query", "name": n, "required": call.name == "support", "schema": known[n]}
            for n in call.query
        ),
        *({"in": "header", "name": n, "required": True, "schema": known[n]} for n in call.headers),
    ]


def _operation(call: Call, rules: Rules, secured: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "operationId": call.name,
        "summary": call.summary,
        "parameters": _parameters(call, rules),
        "responses": _responses(call),
    }
    if call.body is not None:
        shown["requestBody"] = {"required": True, "content": _content(JSON, shapes.reference(call.body))}
    if secured and not call.authenticated:
        shown["security"] = []
    return shown


def document(rules: Rules, origin: str, root: str, schemes: tuple[str, ...]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of a Host at an origin."""
    secured = "Bearer" in schemes
    paths: dict[str, dict[str, Any]] = {}
    for call in CALLS:
        path = call.path.replace("{root}", root)
        paths.setdefault(path, {})[call.method.lower()] = _operation(call, rules, secured)
    shown: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": documents.API, "version": version("fencepost")},
        "servers": [{"url": origin}],
        "paths": paths,
        "components": {"schemas": shapes.components(rules)},
    }
    if secured:
        shown["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
        shown["security"] = [{"bearer": []}]
    return shown
