"""Programs and entries in a few words: what a reader sees of a generated scenario that failed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def told(operations: Iterable[Mapping[str, Any]]) -> str:
    """A program on one line."""
    return "; ".join(_operation(each) for each in operations) or "nothing"


def _operation(operation: Mapping[str, Any]) -> str:
    for word, teller in _TELLERS.items():
        if word in operation:
            return teller(operation)
    return json.dumps(operation)


def _do(operation: Mapping[str, Any]) -> str:
    retry = f" retry {_keys(operation['retry'])}" if "retry" in operation else ""
    return f"do {operation['do']} = {_effect(operation.get('effect'))}{retry}{_ends(operation)}"


def _sleep(operation: Mapping[str, Any]) -> str:
    return f"sleep {operation['sleep']} {operation.get('seconds')} s{_ends(operation)}"


def _wait(operation: Mapping[str, Any]) -> str:
    awaited = f"{operation.get('type')!r} for {operation.get('timeoutSeconds')} s"
    return f"wait {operation['wait']} {awaited}{_ends(operation)}"


def _ends(operation: Mapping[str, Any]) -> str:
    caught = f" catch {operation['catch']}" if "catch" in operation else ""
    return f" as {operation['as']}{caught}" if "as" in operation else caught


def _try(operation: Mapping[str, Any]) -> str:
    text = f"try {{{told(operation['try'])}}}"
    if "catch" in operation or "handler" in operation:
        text += f" catch {operation.get('catch', '')} {{{told(operation.get('handler', ()))}}}"
    return text + (f" finally {{{told(operation['finally'])}}}" if "finally" in operation else "")


def _effect(effect: Any) -> str:
    if not isinstance(effect, Mapping) or not effect:
        return json.dumps(effect)
    word, argument = next(iter(effect.items()))
    if word == "attempts":
        return " then ".join(_effect(each) for each in argument)
    if word == "gate":
        return f"stand at {argument}, then {_effect(effect.get('then', {'undefined': True}))}"
    if word == "nested":
        return f"({_operation(argument)})"
    return "undefined" if word == "undefined" else f"{word} {json.dumps(argument)}"


def _keys(policy: Any) -> str:
    if not isinstance(policy, Mapping):
        return json.dumps(policy)
    return ", ".join(f"{key} {value}" for key, value in policy.items())


def _set(operation: Mapping[str, Any]) -> str:
    return f"{operation['set']} = {json.dumps(operation['to'])}"


_TELLERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "do": _do,
    "sleep": _sleep,
    "wait": _wait,
    "try": _try,
    "set": _set,
    "together": lambda each: "together {" + " | ".join(map(_operation, each["together"])) + "}",
    "race": lambda each: "race {" + " | ".join(map(_operation, each["race"])) + "}",
    "unawaited": lambda each: f"unawaited {_operation(each['unawaited'])}",
    "repeat": lambda each: f"{each['repeat']} times {{{told(each['ops'])}}}",
    "if": lambda each: f"if {json.dumps(each['if'])} {{{told(each.get('then', ()))}}}",
    "return": lambda each: f"return {json.dumps(each['return'])}",
    "throw": lambda each: f"throw {json.dumps(each['throw'])}",
    "rethrow": lambda each: f"rethrow {each['rethrow']}",
    "throwCopyOf": lambda each: f"throw a copy of {each['throwCopyOf']}",
    "throwCauseOf": lambda each: f"throw with {each['throwCauseOf']} as cause",
}
