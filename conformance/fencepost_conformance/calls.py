"""The caller's calls of a schedule: the adapter's method for each, and its arguments.

Arguments are VALUEs with the schedule's variables filled in; the end that holds the adapter builds them.
Params carry the program under ``program``, as it stands, beside their document.
"""

from collections.abc import Callable, Mapping
from typing import Any

from fencepost.documents import DocumentError, encode

from .probe.oddities import ROOTS
from .probe.values import build, form_of, resolve
from .scenario import Scenario, ScenarioError

Entry = Mapping[str, Any]
Variables = Mapping[str, Any]

# word -> the adapter's method
OPS: Mapping[str, str] = {
    "create": "create",
    "get": "get",
    "status": "status",
    "sendEvent": "send_event",
    "terminate": "terminate",
    "resource": "resource",
}

# method -> what it returns, and how to say so
SHAPES: Mapping[str, tuple[type, str]] = {
    "create": (str, "the id, a string"),
    "status": (dict, "the status answer, an object"),
    "resource": (dict, "an object with the status code"),
}

_FILLER = ',"filler":""'


def arguments(word: str, call: Entry, scenario: Scenario, variables: Variables) -> dict[str, Any]:
    """The arguments of a call; what the call does not give is not among them. Raises ScenarioError."""
    return _ARGUMENTS.get(word, _by_id)(word, call, scenario, variables)


def _create(word: str, call: Entry, scenario: Scenario, variables: Variables) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if call["create"] is not None:
        given["id"] = resolve(call["create"], variables)
    if "program" in call:
        given["params"] = params(call, scenario, variables)
    elif "params" in call:
        given["params"] = resolve(call["params"], variables)
    return given


def _send_event(word: str, call: Entry, scenario: Scenario, variables: Variables) -> dict[str, Any]:
    given = {key: resolve(call[key], variables) for key in ("type", "payload") if key in call}
    return {"id": resolve(call[word], variables), **given}


def _by_id(word: str, call: Entry, scenario: Scenario, variables: Variables) -> dict[str, Any]:
    return {"id": resolve(call[word], variables)}


_ARGUMENTS: Mapping[str, Callable[[str, Entry, Scenario, Variables], dict[str, Any]]] = {
    "create": _create,
    "sendEvent": _send_event,
}


def params(call: Entry, scenario: Scenario, variables: Variables) -> dict[str, Any]:
    """The VALUE of a create's params: its document, with the program beside it. Raises ScenarioError."""
    given = call.get("params") or {}
    program = scenario.program(call["program"])
    carried = {"program": {"$literal": program}}
    word = form_of(given)
    if word is None:
        return {**carried, **resolve(given, variables)}
    if word == "$oddity":
        return given if given[word] in ROOTS else {**carried, "oddity": given}
    if word == "$size":
        return {**carried, "filler": {"$repeat": ["x", _filler(program, given[word])]}}
    return {**carried, **{key: {"$literal": value} for key, value in build(given, variables).items()}}


def _filler(program: Any, size: int) -> int:
    """Characters of filler with which params of this program have exactly `size` canonical bytes."""
    try:
        least = len(encode({"program": program})) + len(_FILLER)
    except DocumentError as error:
        raise ScenarioError(f"$size: the program is no document ({error}); change the program") from None
    if size < least:
        raise ScenarioError(f"$size {size}: the program alone needs {least}; give more")
    return size - least
