"""Commands: calls that change something, with an id of the caller's that makes sending them again harmless.

The Form's binding has no such id (EXT-1); management, the HTTP face and the command line do. A command that
took effect is remembered together with its effect, for as long as its instance is held. Sent again with the
same content it does nothing, and is answered as it was; with other content it is refused as
`command_conflict`. A command that was refused has done nothing and is not remembered: it may be tried again.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fencepost.host.calls import CallError, accepted
from fencepost.machine.actions import Unfit
from fencepost.machine.arguments import Misfit, check_text
from fencepost.machine.replies import Accepted, Done, Reply, Unproven

if TYPE_CHECKING:
    from fencepost.host.engine import Engine

Content = str | bytes | Unfit | None
SCALARS = 256
"""Scalar values of the longest command id."""


@dataclass(frozen=True)
class Repeated(Reply):
    """The command was taken before: nothing has happened now. `instance` is the id that it was about."""

    instance: str


@dataclass(frozen=True)
class Command:
    """A command: its id, the call, and a digest of what was asked."""

    id: str
    call: str
    content: str

    def is_taken(self, reply: Reply) -> bool:
        """Whether a call with this reply took effect."""
        return isinstance(reply, Done | Accepted) or (
            self.call == "terminate" and isinstance(reply, Unproven)
        )

    def again(self, content: str, instance: str) -> Repeated:
        """The answer where a command of this id was taken before, about this instance; `command_conflict`."""
        if content != self.content:
            why = f"the command id {self.id!r} was used for another call; a new call needs an id of its own"
            raise CallError("command_conflict", why)
        return Repeated(instance)


def command(id: Any, call: str, *asked: Content) -> Command:
    """A command of a caller; `CallError` where its id is no text of 1 to 256 scalar values."""
    try:
        checked = check_text(id, "command id", SCALARS)
    except Misfit as misfit:
        raise CallError("TypeError", str(misfit)) from None
    digest = hashlib.sha256(call.encode())
    for each in asked:
        data = each.encode("utf-8", "surrogatepass") if isinstance(each, str) else each
        digest.update(f"|{type(each).__name__}".encode())
        if isinstance(data, bytes):
            digest.update(f":{len(data)}:".encode() + data)
    return Command(checked, call, digest.hexdigest())


class Under:
    """A Host's three calls that change something, under one command id."""

    def __init__(self, host: Engine, id: Any) -> None:
        self._host, self._id = host, id

    def create(self, id: Any = None, params: Any = None) -> str:
        """Create an instance, once; its id, which is the same again where the Host had issued it."""
        host = self._host
        host.reach()
        key, action = host.creation(id, params)
        reply = host.once(key, action, command(self._id, "create", id, action.params))
        host.run()
        accepted(reply)
        return reply.instance if isinstance(reply, Repeated) else str(action.id)

    def send_event(self, id: Any, type: Any, payload: Any = None) -> Future[None] | None:
        """Send an event, once (EVT-1)."""
        host = self._host
        host.reach()
        key, action = host.sending(id, type, payload)
        asked = command(self._id, "sendEvent", id, type, action.payload)
        return host.sent(key, accepted(host.once(key, action, asked)))

    def terminate(self, id: Any) -> Future[None]:
        """Terminate an instance, once; the future ends as that of every terminate (TRM-1)."""
        host = self._host
        host.reach()
        key, action = host.termination(id)
        reply = accepted(host.once(key, action, command(self._id, "terminate", id)))
        return host.terminating(key, isinstance(reply, Done) or host.has_ended(key))
