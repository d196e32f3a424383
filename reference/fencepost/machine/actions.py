"""Everything that can happen to one instance, as data. `now` is an instant in integer milliseconds.

Callers: `Create`, `Get`, `ReadStatus`, `SendEvent`, `Terminate`. Owners: `BeginStep`, `Park`,
`CommitAttempt`, `Settle`, `Renew`. The Host: `Claim`, `Wake`, `EndLifetime`, `Expire`, `StopAck`, `Crash`,
`Close`, `Purge`. A document that is none arrives as an `Unfit`, so that the machine names the error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

from fencepost.machine.state import Kind


class Unfit(Enum):
    """Why something that should be a document is none."""

    INVALID = "invalid"
    TOO_LARGE = "too_large"


Document = bytes | None | Unfit


@dataclass(frozen=True)
class Action:
    now: int


@dataclass(frozen=True)
class Create(Action):
    """`create` of the caller's binding, with the id chosen by the caller or issued by the Host (BND-2)."""

    id: Any
    params: Document = None


@dataclass(frozen=True)
class Get(Action):
    """`get` of the caller's binding (BND-4)."""


@dataclass(frozen=True)
class ReadStatus(Action):
    """`status` of the caller's binding (BND-6)."""


@dataclass(frozen=True)
class SendEvent(Action):
    """`sendEvent` of the caller's binding (EVT-1); `size` is the stored event's canonical size in bytes
    (EVT-3)."""

    type: Any
    payload: Document = None
    size: int = 0


@dataclass(frozen=True)
class Terminate(Action):
    """`terminate` of the caller's binding (TRM-1)."""


@dataclass(frozen=True)
class Claim(Action):
    """The Host starts a context under a fresh token, on a Version picked from the weights of this instant
    (CTX-2)."""

    token: int
    version: str
    lease_until: int


@dataclass(frozen=True)
class OwnerAction(Action):
    token: int


@dataclass(frozen=True)
class Renew(OwnerAction):
    """The owner shows that it is alive and extends its lease (GRT-4)."""

    lease_until: int


@dataclass(frozen=True)
class BeginStep(OwnerAction):
    """A step call, at the instant of the call; `arguments` are the raw ones beside the name (STP-2).

    do: ``{"effect": is it callable, "retry": policy or absent}``; sleep: ``{"seconds"}``; wait: ``{"type",
    "timeoutSeconds"}``.
    """

    kind: Kind
    name: Any
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Park(OwnerAction):
    """The turn in which a sleep or wait was begun has drained: settle it now, or give the instance up until
    it wakes."""


@dataclass(frozen=True)
class CommitAttempt(OwnerAction):
    """The effect of the open do step ended: a result, or `failed` when it threw (DO-4)."""

    result: Document = None
    failed: bool = False


@dataclass(frozen=True)
class Settle(OwnerAction):
    """`run` settled: returned a result, or threw; `provenance` names the genuine Host error that was uncaught
    (ERR-2)."""

    result: Document = None
    threw: bool = False
    provenance: Literal["step_failed", "wait_timeout"] | None = None


@dataclass(frozen=True)
class StopAck(OwnerAction):
    """A fenced context is proven stopped (PUB-1)."""


@dataclass(frozen=True)
class Crash(OwnerAction):
    """A context is gone, whatever it was doing: fenced and proven stopped at once."""


@dataclass(frozen=True)
class Expire(Action):
    """The owner's lease has run out: it is fenced, and not proven stopped (GRT-4)."""


@dataclass(frozen=True)
class Wake(Action):
    """The deadline that the instance is parked for has passed: record it (SLP-2, WFE-5, DO-3)."""


@dataclass(frozen=True)
class EndLifetime(Action):
    """The lifetime has passed (LIF-1)."""


@dataclass(frozen=True)
class Close(Action):
    """The resource is being deleted: nothing new is accepted and every owner is fenced (DEL-3)."""


@dataclass(frozen=True)
class Purge(Action):
    """Forget the instance: its resource was deleted and every context is stopped (DEL-3), or its retention is
    over (RET-2)."""
