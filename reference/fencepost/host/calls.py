"""What a caller's call ends with."""

from dataclasses import dataclass
from typing import Any

from fencepost import documents
from fencepost.machine.actions import Action
from fencepost.machine.latitude import Latitude
from fencepost.machine.replies import Rejected, Reply, StatusAnswer
from fencepost.machine.state import Status


class CallError(Exception):
    """A caller's call was rejected; `name` is the Form's word for it (BND-13)."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message


def accepted(reply: Reply) -> Reply:
    """A reply that is no rejection; `CallError` for one."""
    if isinstance(reply, Rejected):
        raise CallError(reply.name, reply.message)
    return reply


@dataclass(frozen=True)
class Moment:
    """One line of a Host's trace: an action of one instance at an instant in milliseconds, and what became of
    it."""

    at: int
    instance: str
    action: Action
    reply: Reply
    clauses: tuple[str, ...]
    status: Status | None


def status_document(answer: StatusAnswer, latitude: Latitude) -> dict[str, Any]:
    """The answer of `status()` as its caller sees it (BND-6, BND-12)."""
    shown: dict[str, Any] = {"status": answer.status}
    if answer.output is not None:
        shown["output"] = documents.decode(answer.output)
    if answer.reason is not None:
        message = {"message": f"the run ended as {answer.reason}"}
        shown["error"] = {"reason": answer.reason} | (message if latitude.error_message == "present" else {})
    return shown
