"""The caller's binding as JavaScript reaches it: a message of a process becomes one call of a Host.

The message is taken apart first, so that nonsense is the loss of the process that sent it and of nothing
else; what the Host says of the call is then told in the process's words, at once or when the call lands.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from fencepost import documents
from fencepost.contexts.node import believed
from fencepost.contexts.wire import document_in
from fencepost.host.calls import CallError
from fencepost.host.engine import Engine
from fencepost.machine.actions import Document

Answer = Callable[[Mapping[str, Any]], None]
Call = Callable[[Engine], Any]


@dataclass(frozen=True)
class Encoded:
    """A document that JavaScript has written, or why it is none."""

    document: Document


def parsed(op: str, arguments: Mapping[str, Any]) -> Call:
    """A call as it was sent; ProcessLost for nonsense."""
    with believed():
        return _CALLS[op](arguments)


def make(host: Engine, call: Call, answer: Answer) -> None:
    """Make a call, and have it answered now or once it lands."""
    try:
        told = call(host)
    except CallError as error:
        answer(rejection(error))
        return
    if isinstance(told, Future):
        told.add_done_callback(lambda done: answer(_ended(done)))
    else:
        answer({"ok": told})


def rejection(error: CallError) -> Mapping[str, Any]:
    """A rejection in the words of a process."""
    return {"error": {"name": error.name, "message": error.message}}


def _create(arguments: Mapping[str, Any]) -> Call:
    id, params = arguments.get("id"), Encoded(document_in(arguments["params"]))
    return lambda host: host.create(id, params)


def _send_event(arguments: Mapping[str, Any]) -> Call:
    id, type, payload = arguments["id"], arguments["type"], Encoded(document_in(arguments["payload"]))
    return lambda host: host.send_event(id, type, payload)


def _about(call: Callable[[Engine, Any], Any]) -> Callable[[Mapping[str, Any]], Call]:
    def parse(arguments: Mapping[str, Any]) -> Call:
        id = arguments["id"]
        return lambda host: call(host, id)

    return parse


def shown_status(host: Engine, id: Any) -> dict[str, Any]:
    """The status document, with its output as canonical text."""
    shown = host.status(id)
    output = shown.get("output")
    return shown if output is None else shown | {"output": documents.encode(output).decode()}


_CALLS: Mapping[str, Callable[[Mapping[str, Any]], Call]] = {
    "create": _create,
    "get": _about(lambda host, id: host.get(id)),
    "status": _about(shown_status),
    "send_event": _send_event,
    "terminate": _about(lambda host, id: host.terminate(id)),
}


def _ended(done: "Future[None]") -> Mapping[str, Any]:
    error = done.exception()
    if error is None:
        return {"ok": None}
    if isinstance(error, CallError):
        return rejection(error)
    raise error
