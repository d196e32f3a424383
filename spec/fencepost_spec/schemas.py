"""The JSON Schemas of everything that crosses a border, and readable complaints about what does not fit.

Theory of operation. ``schemas/NAME.json`` is a JSON Schema (2020-12) with two notations of our own.
``{"$limit": FIELD}`` stands for a figure of ``limits`` and is filled in at load. ``$byKey`` is a union whose
members are told apart by the one key that names them (``do``, ``sleep``, ...): it lists for each such key
what the object *needs* and what it further *takes*. ``schema`` gives the plain schema, with every union
written as ``oneOf``, for use by other tools; ``problems`` validates with the unions as they stand, so that it
can say which member was meant. What several schemas share stands in ``schemas/definitions`` and is copied
into each plain schema that uses it.

What a schema cannot say about a scenario, such as that a program exists which an entry names, is in
``references``.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

from fencepost_spec.limits import FORM
from fencepost_spec.misfits import Problem
from fencepost_spec.references import scenario_problems
from fencepost_spec.validation import Validation

NAMES = (
    "resource-spec",
    "observed",
    "create-input",
    "event-input",
    "status-answer",
    "retry-policy",
    "wait-options",
    "program",
    "scenario",
    "history",
    "report",
    "adapter-request",
    "adapter-answer",
    "adapter-exchange",
)

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DEFINITION = "#/$defs/"


def schema(name: str) -> dict[str, Any]:
    """The plain JSON Schema of that name, complete in itself; a fresh copy. ``KeyError`` if there is none."""
    raw = _raw(name)
    used = _used_definitions(raw)
    plain: dict[str, Any] = {"$schema": _DIALECT, "$id": f"urn:fencepost:schema:{name}"}
    plain |= _plain(raw)
    if used:
        plain["$defs"] = {key: _plain(_definitions()[key]) for key in used}
    return plain


def problems(name: str, document: object) -> list[str]:
    """What is wrong with a document, one line each with its path, first misfit first; empty if it fits."""
    found = _validation(name).problems(document)
    if not found and name in _BEYOND:
        found = sorted(_BEYOND[name](document))
    return [str(problem) for problem in found]


def _report_problems(report: Any) -> Iterator[Problem]:
    """A report that was cut short or put together by hand does not end with its mark."""
    if list(report)[-1] != "complete":
        yield Problem((len(report),), ("complete",), "must be the last key of the report")


_BEYOND: Mapping[str, Callable[[Any], Iterator[Problem]]] = {
    "scenario": scenario_problems,
    "report": _report_problems,
}


@cache
def _validation(name: str) -> Validation:
    return Validation(_raw(name), _definitions())


@cache
def _raw(name: str) -> dict[str, Any]:
    """The schema of that name as it stands in its file, with the limits filled in."""
    if name not in NAMES:
        raise KeyError(f"there is no schema {name!r}; the schemas are {', '.join(NAMES)}")
    text = resources.files("fencepost_spec").joinpath("schemas", f"{name}.json").read_text("utf-8")
    loaded: dict[str, Any] = _with_limits(json.loads(text))
    return loaded


@cache
def _definitions() -> dict[str, Any]:
    """What the schemas share, by name, with the limits filled in and the unions made of objects."""
    merged: dict[str, Any] = {}
    folder = resources.files("fencepost_spec").joinpath("schemas", "definitions")
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        for key, definition in json.loads(file.read_text("utf-8")).items():
            if key in merged:
                raise ValueError(f"{file.name}: {key!r} is defined twice")
            merged[key] = _with_members(_with_limits(definition))
    return merged


def _with_limits(node: Any) -> Any:
    """The same schema with every ``{"$limit": FIELD}`` replaced by its figure."""
    if isinstance(node, dict):
        if set(node) == {"$limit"}:
            return getattr(FORM, node["$limit"])
        return {key: _with_limits(child) for key, child in node.items()}
    return [_with_limits(child) for child in node] if isinstance(node, list) else node


def _with_members(definition: dict[str, Any]) -> dict[str, Any]:
    """A union with each of its kinds turned into the schema of a closed object; anything else as it is."""
    if "$byKey" not in definition:
        return definition
    union = definition["$byKey"]
    shared = union.get("shared", {})
    kinds = {
        key: {
            "type": "object",
            "properties": {**kind["needs"], **kind.get("takes", {}), **shared},
            "required": list(kind["needs"]),
            "additionalProperties": False,
        }
        for key, kind in union["kinds"].items()
    }
    return {**definition, "$byKey": {**union, "kinds": kinds}}


def _plain(node: Any) -> Any:
    """The same schema with every union written as ``oneOf``; a fresh copy."""
    if isinstance(node, list):
        return [_plain(child) for child in node]
    if not isinstance(node, dict):
        return copy.copy(node)
    if "$byKey" not in node:
        return {key: _plain(child) for key, child in node.items()}
    union = node["$byKey"]
    members = [_plain(kind) for kind in union["kinds"].values()]
    if "otherwise" in union:
        unmarked = {"not": {"pattern": f"^\\{union['mark']}"}}
        members.append({"propertyNames": unmarked, **_plain(union["otherwise"])})
    return {**{key: _plain(child) for key, child in node.items() if key != "$byKey"}, "oneOf": members}


def _used_definitions(node: Any) -> list[str]:
    """The definitions that a schema refers to, directly or through others, in the order of their names."""
    used: set[str] = set()
    waiting = [node]
    while waiting:
        for name in _references(waiting.pop()):
            if name not in used:
                used.add(name)
                waiting.append(_definitions()[name])
    return sorted(used)


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].removeprefix(_DEFINITION)
        for child in node.values():
            yield from _references(child)
    elif isinstance(node, list):
        for child in node:
            yield from _references(child)
