"""Whether an answer that was seen is one of the machine's replies, seen from outside.

A rejection by one of the Form's own words must be that word. Every other name with which the machine rejects
stands for a point where any rejection is admitted. Of a status document the named keys are compared (BND-10).
"""

from typing import Any

from fencepost import documents
from fencepost.machine.replies import Rejected, Reply, StatusAnswer, Unproven

from ..adapter import Answer
from ..expectations import same, shown
from ..observations import IN_FLIGHT, NO_ANSWER

NAMED = frozenset(
    {
        "instance_exists",
        "unknown_instance",
        "instance_terminal",
        "event_queue_full",
        "invalid_params",
        "document_too_large",
        "backend_unavailable",
    }
)
"""The Form's own words for rejections."""


def explains(reply: Reply, answer: Any) -> bool:
    """Whether a reply of the machine looks like this answer."""
    if not isinstance(answer, Answer):
        return False
    if isinstance(reply, Rejected):
        return answer.error is not None and (reply.name not in NAMED or reply.name == answer.error[0])
    if answer.error is not None or isinstance(reply, Unproven):
        return False
    return _is_status(reply, answer.value) if isinstance(reply, StatusAnswer) else True


def _is_status(reply: StatusAnswer, seen: Any) -> bool:
    if not isinstance(seen, dict) or seen.get("status") != reply.status:
        return False
    if ("output" in seen) != (reply.output is not None):
        return False
    if reply.output is not None and not same(documents.decode(reply.output), seen["output"]):
        return False
    error = seen.get("error")
    return (error.get("reason") if isinstance(error, dict) else error) == reply.reason


def told(reply: Reply) -> Any:
    """A reply for a reader, in the form of an answer."""
    if isinstance(reply, Rejected):
        return {"error": reply.name if reply.name in NAMED else "any"}
    if isinstance(reply, StatusAnswer):
        shown: dict[str, Any] = {"status": reply.status}
        if reply.output is not None:
            shown["output"] = documents.decode(reply.output)
        if reply.reason is not None:
            shown["error"] = {"reason": reply.reason}
        return shown
    return NO_ANSWER if isinstance(reply, Unproven) else {"ok": True}


def seen(answer: Any) -> Any:
    """An answer for a reader."""
    return shown(answer) if isinstance(answer, Answer) else answer


__all__ = ["IN_FLIGHT", "NAMED", "NO_ANSWER", "explains", "seen", "told"]
