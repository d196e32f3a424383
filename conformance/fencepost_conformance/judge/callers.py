"""A caller's CALL as an action of the machine: whom it is for, and what arrives there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost import documents
from fencepost.admission import admit
from fencepost.machine.actions import Action, Create, Document, Get, ReadStatus, SendEvent, Terminate, Unfit
from fencepost.machine.arguments import Misfit, check_text
from fencepost.machine.latitude import Latitude
from fencepost_spec.limits import FORM

from .. import calls
from ..adapter import ABSENT
from ..bench import live
from ..run import word_of
from ..scenario import Scenario
from .latitudes import Choices, latitude_of, set_aside, traits

_LARGE = 1_000_000  # characters from which on a document that is none may be too large as well


@dataclass(frozen=True)
class Call:
    """`actions` are the ways in which the call may arrive, since it is open which of two faults of a document
    counts; `id` is None where the Host issues one; `known` is False for what is no string, `sound` for what
    is no id."""

    id: str | None
    known: bool
    sound: bool
    actions: list[Action]


def action_of(
    entry: Mapping[str, Any], scenario: Scenario, variables: Mapping[str, Any], choices: Choices
) -> Call:
    """What a CALL is to the machine; its instants are filled in where it is applied."""
    word = word_of(entry)
    given = live(calls.OPS[word], calls.arguments(word, entry, scenario, variables))
    id = given["id"]
    if id is ABSENT:
        return Call(None, True, True, _ACTIONS[word](None, given, choices))
    known = isinstance(id, str)
    return Call(id if known else "", known, _is_sound(id), _ACTIONS[word](id, given, choices))


def _is_sound(id: Any) -> bool:
    try:
        check_text(id, "id", FORM.id_scalars)  # BND-2
    except Misfit:
        return False
    return True


def _create(id: Any, given: Mapping[str, Any], choices: Choices) -> list[Action]:
    return [Create(0, id, document) for document in _documents(given["params"], choices)]


def _send_event(id: Any, given: Mapping[str, Any], choices: Choices) -> list[Action]:
    type = given["type"]
    found: list[Action] = []
    for document in _documents(given["payload"], choices):
        size = 0
        if isinstance(type, str) and documents.scalars(type) is not None:
            size = documents.event_bytes(type, document if isinstance(document, bytes) else None)
        found.append(SendEvent(0, type, document, size))
    return found


def _documents(value: Any, choices: Choices) -> list[Document]:
    """A live document as the machine is told of it, in every admissible way."""
    if value is ABSENT:
        return [None]
    choices.aside = set_aside(traits(value))
    latitude: Latitude = latitude_of(choices)
    found = list(dict.fromkeys(choices.explore(lambda: admit(value, latitude))))
    if any(isinstance(each, Unfit) for each in found) and _characters(value) > _LARGE:
        found = list(dict.fromkeys([*found, *Unfit]))
    return found


def _characters(value: Any) -> int:
    """About how long a value is when it is written down."""
    total, pending, held = 0, [value], set[int]()
    while pending:
        each = pending.pop()
        if isinstance(each, str):
            total += len(each)
        elif isinstance(each, dict | list) and id(each) not in held:
            held.add(id(each))
            total += len(each)
            pending.extend(each if isinstance(each, list) else [*each.keys(), *each.values()])
    return total


_ACTIONS: Mapping[str, Callable[[Any, Mapping[str, Any], Choices], list[Action]]] = {
    "create": _create,
    "get": lambda id, given, choices: [Get(0)],
    "status": lambda id, given, choices: [ReadStatus(0)],
    "sendEvent": _send_event,
    "terminate": lambda id, given, choices: [Terminate(0)],
}
