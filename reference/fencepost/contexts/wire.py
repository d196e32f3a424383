"""How a context in a process of its own talks to its Host: JSON, one message a line, question and answer.

The child asks and the parent only answers. What a child says is data that the parent makes into an
action of the machine, so a child that talks nonsense is refused as any illegal action is. Values that
are no JSON travel as a marker that no check admits.
"""

import contextlib
import json
import socket
from collections.abc import Mapping
from typing import Any

from fencepost_spec.limits import FORM

from fencepost import documents
from fencepost.contexts.execution import Proposal, ProposeCommit, ProposePark, ProposeSettle
from fencepost.machine.actions import Document, Unfit
from fencepost.machine.replies import BadArgument, Pending, Recorded, Reply, Run, Stopped
from fencepost.machine.state import Failed, Succeeded

FOREIGN = "$foreign"
"""Key of the object that stands for a value without a JSON form; no argument of the Form admits it."""

_PLAIN = (str, int, float, bool, type(None))


def plain(value: Any) -> Any:
    """An argument of a step call as JSON data; what is none becomes a marker."""
    if type(value) in _PLAIN:
        return value if value == value else {FOREIGN: "NaN"}
    if type(value) is list:
        return [plain(each) for each in value]
    if isinstance(value, Mapping) and all(type(key) is str for key in value):
        return {key: plain(each) for key, each in value.items()}
    return {FOREIGN: type(value).__name__}


class Channel:
    """One end of a stream of JSON lines."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._reader = connected.makefile("rb")

    def send(self, message: Mapping[str, Any]) -> None:
        """Write one message; OSError when the other end is gone."""
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> dict[str, Any]:
        """The next message; EOFError when the other end is gone, ValueError for nonsense."""
        line = self._reader.readline()
        if not line.endswith(b"\n"):
            raise EOFError("the other end is gone")
        message = json.loads(line)
        if not isinstance(message, dict):
            raise ValueError("a message is an object")
        return message

    def close(self) -> None:
        """Close this end, also under a thread that reads from it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.close()
        self._socket.close()


def _document_out(document: Document) -> Any:
    if isinstance(document, Unfit):
        return {"unfit": document.value}
    return None if document is None else document.decode()


def document_in(value: Any) -> Document:
    """The document that a message holds, as the runtime that sent it has written it; ValueError or KeyError
    for nonsense."""
    if isinstance(value, dict):
        return Unfit(value["unfit"])
    if value is None:
        return None
    data = str(value).encode()
    if len(data) > FORM.document_bytes:
        raise ValueError("a document beyond the limit")
    documents.decode(data)  # or nobody could read it later
    return data


def proposal_out(proposal: Proposal) -> dict[str, Any]:
    """A proposal as a message."""
    if isinstance(proposal, ProposeCommit):
        result = _document_out(proposal.result)
        return {"commit": proposal.name, "result": result, "failed": proposal.failed}
    if isinstance(proposal, ProposeSettle):
        return {
            "settle": _document_out(proposal.result),
            "threw": proposal.threw,
            "provenance": proposal.provenance,
            "broken": proposal.broken,
        }
    assert isinstance(proposal, ProposePark)
    return {"park": proposal.name}


def proposal_in(message: Mapping[str, Any]) -> Proposal:
    """The proposal that a message is; ValueError or KeyError for nonsense."""
    if "commit" in message:
        return ProposeCommit(message["commit"], document_in(message["result"]), bool(message["failed"]))
    if "settle" in message:
        provenance = message["provenance"]
        if provenance not in (None, "step_failed", "wait_timeout"):
            raise ValueError(f"no provenance: {provenance!r}")
        result = document_in(message["settle"])
        return ProposeSettle(result, bool(message["threw"]), provenance, bool(message["broken"]))
    return ProposePark(message["park"])


def reply_out(reply: Reply) -> dict[str, Any]:
    """A reply as a message; whatever ends the context becomes `stop`."""
    if isinstance(reply, Recorded):
        outcome = reply.outcome
        if isinstance(outcome, Failed):
            return {"failed": outcome.name}
        return {"recorded": _document_out(outcome.document)}
    if isinstance(reply, BadArgument):
        return {"badArgument": reply.message}
    if isinstance(reply, Run):
        return {"run": reply.attempt}
    return {"pending": True} if isinstance(reply, Pending) else {"stop": True}


def reply_in(message: Mapping[str, Any]) -> Reply:
    """The reply that a message is."""
    if "recorded" in message:
        document = message["recorded"]
        return Recorded(Succeeded(None if document is None else document.encode()))
    if "failed" in message:
        return Recorded(Failed(message["failed"]))
    if "badArgument" in message:
        return BadArgument(message["badArgument"])
    if "run" in message:
        return Run(message["run"])
    return Pending() if "pending" in message else Stopped()
