"""The messages of the adapter protocol as a table, read from their schema."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost_spec.schemas import schema

from .adapter import INSTRUMENTS

_DEFINITION = "#/$defs/"
_ENVELOPE = ("op", "ticket")
_ANYTHING = "anything, such as null"


@dataclass(frozen=True)
class Message:
    """One op: its arguments (with ``?`` where one may be missing), and what ``ok`` is."""

    op: str
    instrument: str
    arguments: tuple[str, ...]
    ok: str
    meaning: str


def messages() -> list[Message]:
    """Every op that the kit sends, in the order in which a reader needs them."""
    exchange = schema("adapter-exchange")
    definitions = exchange["$defs"]
    answers = {
        op: _titled(arm["properties"]["answer"]["properties"]["ok"], definitions)
        for op, arm in _arms(exchange, ("request",))
    }
    offered = {
        method.partition("(")[0]: name for name, each in INSTRUMENTS.items() for method in each.methods
    }
    found = []
    for op, arm in _arms(definitions["adapterRequest"], ()):
        asked = definitions[arm["$ref"].removeprefix(_DEFINITION)]
        arguments = tuple(
            name if name in asked["required"] else f"{name}?"
            for name in asked["properties"]
            if name not in _ENVELOPE
        )
        instrument = offered.get(op, "")
        meaning = asked["description"].removeprefix(f"{instrument}: ")
        found.append(Message(op, instrument, arguments, answers.get(op, _ANYTHING), meaning))
    return found


def _arms(node: Mapping[str, Any], within: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The op and the consequence of each condition on an op."""
    for arm in node["allOf"]:
        condition = arm["if"]
        for name in within:
            condition = condition["properties"][name]
        yield condition["properties"]["op"]["const"], arm["then"]


def _titled(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    return str(definitions[node["$ref"].removeprefix(_DEFINITION)]["title"])
