"""What an action is answered with, as data."""

from dataclasses import dataclass
from typing import NamedTuple

from fencepost.machine.state import Outcome, Reason, Slot, Status


@dataclass(frozen=True)
class Reply:
    """The base of every reply; `refused` replies leave the state as it was."""

    refused = False


@dataclass(frozen=True)
class Done(Reply):
    """It happened; for a terminate: `terminated`, or an earlier outcome, is published (TRM-3)."""


@dataclass(frozen=True)
class Unproven(Reply):
    """Terminate was taken, but some context is not proven stopped: no success yet (TRM-2)."""


@dataclass(frozen=True)
class Accepted(Reply):
    """The event is kept under its number; `handed_over` when a wait took it at once (EVT-1)."""

    number: int
    handed_over: bool = False


@dataclass(frozen=True)
class StatusAnswer(Reply):
    """The answer of `status()`; `output` is canonical bytes (BND-6)."""

    status: Status
    output: bytes | None = None
    reason: Reason | None = None


@dataclass(frozen=True)
class Rejected(Reply):
    """The caller's operation fails with an error of this name (BND-13)."""

    name: str
    message: str
    refused = True


@dataclass(frozen=True)
class Run(Reply):
    """Execute the effect once the turn has drained: attempt number `attempt`, counted from 1."""

    attempt: int


@dataclass(frozen=True)
class Pending(Reply):
    """The step is registered; once the turn has drained, `Park`."""


@dataclass(frozen=True)
class Recorded(Reply):
    """The step has this recorded outcome: settle its Promise with it (STP-3)."""

    outcome: Outcome


@dataclass(frozen=True)
class BadArgument(Reply):
    """The call fails with a TypeError, and nothing was journaled (STP-4)."""

    message: str
    refused = True


@dataclass(frozen=True)
class UnfitResult(BadArgument):
    """The effect ended with what is no document: its call fails with a TypeError, and the attempt is over
    (DO-9)."""

    refused = False


@dataclass(frozen=True)
class Replaying(Reply):
    """The step has this recorded outcome, but counts as open until the turn has drained: then `Park`
    (STP-10)."""

    outcome: Outcome


@dataclass(frozen=True)
class Parked(Reply):
    """The context is fenced and must be stopped; a later one goes on."""


@dataclass(frozen=True)
class Stopped(Reply):
    """A terminal outcome was decided: the context is fenced and must be stopped; nothing can catch it (STP-6,
    STP-9)."""

    reason: Reason | None = None


@dataclass(frozen=True)
class Fenced(Reply):
    """The token is no longer current: nothing was committed (PUB-2)."""

    refused = True


@dataclass(frozen=True)
class Impossible(Reply):
    """The action has no place in this state."""

    why: str
    refused = True


class Transition(NamedTuple):
    """The state after an action, its reply, and the clauses behind the move."""

    state: Slot
    reply: Reply
    clauses: tuple[str, ...] = ()
