"""The documents of the API as JSON Schemas, put together from what the machine and the Forms already say.

The specs of the Forms, the observation of a Workflow and every enumeration are taken from where they are
defined; only the frames around them are written here. `$defs` are lifted into the components, each under
the name of its owner, so that one document holds everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from fencepost_spec import schemas

from fencepost.management import documents, forms
from fencepost.management.problems import STATUS_OF
from fencepost.management.state import Effect, Kind, OperationStatus, Phase, Rules, Verb
from fencepost.management.values import HTTPS_URL, IDEMPOTENCY_KEY, IDENTIFIER, LARGEST_INTEGER

Schema = dict[str, Any]

_PREFIX = "#/components/schemas/"
_PATTERN_ENDS = "(?!\\n)"  # Python's `$` also stands before a last line feed; nobody else's does
_DROPPED = frozenset({"$schema", "$id", "$defs"})


def reference(name: str) -> Schema:
    """A reference to a component."""
    return {"$ref": _PREFIX + name}


def closed(properties: Mapping[str, Any], optional: Iterable[str] = ()) -> Schema:
    """An object with these properties and no others."""
    left_out = set(optional)
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in left_out],
        "additionalProperties": False,
    }


def identifier() -> Schema:
    """A uid, an id, a Space or a name."""
    return {"type": "string", "pattern": f"^{IDENTIFIER.pattern}$"}


def idempotency_key() -> Schema:
    """An Idempotency-Key."""
    return {"type": "string", "pattern": f"^{IDEMPOTENCY_KEY.pattern}$"}


def integer(least: int = 0) -> Schema:
    """An integer of the API."""
    return {"type": "integer", "minimum": least, "maximum": LARGEST_INTEGER}


def https() -> Schema:
    """An absolute HTTPS URL without userinfo, query or fragment."""
    return {"type": "string", "pattern": f"^{HTTPS_URL.pattern}$"}


def _one_of(names: Iterable[Any]) -> Schema:
    return {"enum": list(names)}


def _timestamp() -> Schema:
    return {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"}


def _lifted(name: str, schema: Schema) -> dict[str, Schema]:
    """A schema and its definitions, as components."""
    found = {f"{name}.{key}": _renamed(each, name) for key, each in schema.get("$defs", {}).items()}
    return {name: _renamed({k: v for k, v in schema.items() if k not in _DROPPED}, name)} | found


def _renamed(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {
            key: _moved(each, name) if key == "$ref" else _renamed(each, name) for key, each in value.items()
        }
    if isinstance(value, list):
        return [_renamed(each, name) for each in value]
    return value.removesuffix(_PATTERN_ENDS) if isinstance(value, str) else value


def _moved(pointer: str, name: str) -> str:
    return f"{_PREFIX}{name}.{pointer.removeprefix('#/$defs/')}"


def _create(kind: Kind) -> Schema:
    frame = {
        "form": {"const": forms.URLS[kind]},
        "space": identifier(),
        "name": identifier(),
        "spec": reference(f"{kind}Spec"),
        "privateInputs": {"type": "object", "maxProperties": 0},
    }
    return closed(frame, ("privateInputs",))


def _observed(kind: Kind) -> Schema:
    return reference("WorkflowObserved") if kind == "DurableWorkflow" else {"type": "object"}


def _resource(kind: Kind) -> Schema:
    return closed(
        {
            "uid": identifier(),
            "form": {"const": forms.URLS[kind]},
            "space": identifier(),
            "name": identifier(),
            "generation": integer(1),
            "observedGeneration": integer(),
            "observedAt": {"anyOf": [_timestamp(), {"type": "null"}]},
            "phase": _one_of(get_args(Phase)),
            "spec": reference(f"{kind}Spec"),
            "observed": _observed(kind),
            "output": {"type": "object", "maxProperties": 0},
            "lastOperation": identifier(),
        }
    )


def _operation() -> Schema:
    failure = {"code": {"type": "string"}, "message": {"type": "string"}}
    shown = {
        "id": identifier(),
        "resourceUid": identifier(),
        "action": _one_of(get_args(Verb)),
        "generation": integer(1),
        "status": _one_of(get_args(OperationStatus)),
        "effect": _one_of(get_args(Effect)),
        "createdAt": _timestamp(),
        "updatedAt": _timestamp(),
        "retainUntil": _timestamp(),
        "error": closed(failure),
    }
    failed = {"properties": {"status": {"const": "failed"}}}
    return closed(shown, ("error",)) | {"if": failed, "then": {"required": ["error"]}}


def problem(codes: Iterable[str]) -> Schema:
    """A problem document with one of these codes, which have one status."""
    known = sorted(codes)
    shown = {
        "type": {"const": "about:blank"},
        "title": {"type": "string"},
        "status": {"const": STATUS_OF[known[0]]},
        "code": _one_of(known),
        "detail": {"type": "string"},
        "operationId": identifier(),
    }
    return closed(shown, ("detail", "operationId"))


def _discovery() -> Schema:
    flags = {name: {"type": "boolean"} for name in ("offerings", "previews", "privateInputs")}
    limits = {name: integer(1) for name in ("maxRequestBytes", "maxPageSize", "replayWindowSeconds")}
    url = {"type": "string", "pattern": "^https?://"}  # plain HTTP on loopback: the documentation says so
    schemes = {"type": "array", "minItems": 1, "items": {"type": "string"}}
    return closed(
        {
            "api": {"const": documents.API},
            "baseUrl": url,
            "documentation": url,
            "authentication": closed({"schemes": schemes, "documentation": url}),
            "capabilities": closed(flags),
            "limits": closed(limits),
        }
    )


def _support() -> Schema:
    verbs = {"type": "array", "items": _one_of(documents.OPERATIONS), "uniqueItems": True}
    flag = {"type": "boolean"}
    return closed({"form": https(), "supported": flag, "operations": verbs, "privateInputs": flag})


def components(rules: Rules) -> dict[str, Schema]:
    """Every document of the API, by name."""
    found: dict[str, Schema] = {}
    for kind in forms.URLS:
        found |= _lifted(f"{kind}Spec", forms.schema(kind))
        found[f"Create{kind}"], found[f"{kind}Resource"] = _create(kind), _resource(kind)
    found |= _lifted("WorkflowObserved", schemas.schema("observed"))
    specs = [reference(f"{kind}Spec") for kind in forms.URLS]
    rest = {"spec": {"anyOf": specs}, "privateInputs": {"type": "object", "maxProperties": 0}}
    page = {
        "items": {"type": "array", "items": reference("Resource"), "maxItems": rules.maximum_page_size},
        "nextCursor": {"type": ["string", "null"]},
    }
    return found | {
        "Create": {"oneOf": [reference(f"Create{kind}") for kind in forms.URLS]},
        "Update": closed(rest, ("privateInputs",)),
        "Resource": {"oneOf": [reference(f"{kind}Resource") for kind in forms.URLS]},
        "Operation": _operation(),
        "Page": closed(page),
        "Support": _support(),
        "Discovery": _discovery(),
    }
