"""The state of one instance id inside one Workflow resource.

A slot is `Vacant` or an `Instance`. Everything that a Host must keep is here, and nothing that can be
derived is:

- the *history* is a map from name to `Step`; a finished step never changes;
- `contexts` are those not yet proven stopped; `owner` is the token of the one that may commit, or 0
  when all are fenced;
- `current` names the step that the owner began last. An unowned instance has none, unless it is
  *parked*: then that step is pending, or was settled since. So a crash between the registration of a
  wait and the stop of its context changes nothing;
- `decision` is a terminal outcome that is not published yet because some context is not proven stopped.

Instants are integer milliseconds, documents are their canonical bytes. The records inside of an
instance are named tuples, the cheapest immutable thing that Python makes.
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from fencepost_spec.limits import FORM, Limits

from fencepost.machine.latitude import REFERENCE, Latitude
from fencepost.machine.records import FrozenMap

Kind = Literal["do", "sleep", "wait"]
Reason = Literal[
    "run_threw", "step_failed", "step_limit_exceeded", "lifetime_exceeded", "step_definition_mismatch"
]  # BND-7
Status = Literal["queued", "running", "sleeping", "waiting", "complete", "errored", "terminated"]  # BND-5

MILLISECONDS = 1000
"""Milliseconds in a second: the source counts in seconds, states in milliseconds."""


@dataclass(frozen=True, eq=False)
class Rules:
    """What the machine runs under; compared by identity."""

    limits: Limits = FORM
    latitude: Latitude = REFERENCE


@dataclass(frozen=True)
class Succeeded:
    """A step's recorded success: canonical bytes, or None for `undefined` (STP-13)."""

    document: bytes | None = None


@dataclass(frozen=True)
class Failed:
    """A step's recorded failure, by the name of the Host error (ERR-1)."""

    name: Literal["step_failed", "wait_timeout"]


Outcome = Succeeded | Failed


class RetryPolicy(NamedTuple):
    """A retry policy with its defaults filled in; delays in seconds (DO-2)."""

    maximum_attempts: int
    initial_delay: int
    backoff: Literal["constant", "exponential"]
    maximum_delay: int

    def delay(self, failures: int) -> int:
        """Seconds between failed attempt number `failures` and the next one (DO-3)."""
        if self.backoff == "constant":
            return min(self.maximum_delay, self.initial_delay)
        return min(self.maximum_delay, self.initial_delay << (failures - 1))


class Step(NamedTuple):
    """One named step: its first configuration (STP-5) and, once finished, its outcome.

    `deadline` is the instant of a sleep, of a wait's timeout, or of a do's pending retry; None where there is
    none.
    """

    kind: Kind
    outcome: Outcome | None = None
    deadline: int | None = None
    type: str | None = None
    policy: RetryPolicy | None = None
    failures: int = 0

    @property
    def finished(self) -> bool:
        return self.outcome is not None


class Event(NamedTuple):
    """An accepted event: its number in the instance's acceptance order, and what it takes in the inbox
    (EVT-3)."""

    number: int
    type: str
    payload: bytes | None
    accepted_at: int
    size: int


class Context(NamedTuple):
    """A context that is not proven stopped: token, pinned Version (CTX-2), and the step it has called and not
    seen settle.

    `replaying` says that the open step had been finished before this context called it.
    """

    token: int
    version: str
    open: str | None = None
    replaying: bool = False


@dataclass(frozen=True)
class Terminal:
    """A terminal outcome, and the instant of its decision."""

    status: Literal["complete", "errored", "terminated"]
    at: int
    output: bytes | None = None
    reason: Reason | None = None


@dataclass(frozen=True)
class Vacant:
    """No instance is held under this id."""

    rules: Rules = field(default_factory=Rules)
    closed: bool = False


NO_HISTORY: FrozenMap[str, Step] = FrozenMap()


@dataclass(frozen=True)
class Instance:
    """One instance, from its creation to the end of its retention."""

    rules: Rules
    id: str
    created_at: int
    ends_at: int
    params: bytes | None = None
    history: FrozenMap[str, Step] = NO_HISTORY
    current: str | None = None
    inbox: tuple[Event, ...] = ()
    inbox_bytes: int = 0
    accepted: int = 0
    owner: int = 0
    lease_until: int = 0
    token: int = 0
    contexts: tuple[Context, ...] = ()
    decision: Terminal | None = None
    terminal: Terminal | None = None
    terminal_at: int = 0
    closed: bool = False

    def context(self, token: int) -> Context | None:
        """The unstopped context with this token."""
        for context in self.contexts:
            if context.token == token:
                return context
        return None

    @property
    def live(self) -> bool:
        """Neither decided nor terminal: the instance can still move."""
        return self.decision is None and self.terminal is None


Slot = Vacant | Instance


def parked_on(instance: Instance) -> Step | None:
    """The pending step that an unowned live instance waits for, or None if a context could run now."""
    if instance.owner or not instance.live or instance.current is None:
        return None
    step: Step = instance.history[instance.current]
    return step if step.outcome is None and step.deadline is not None else None


_PARKED: dict[Kind, Status] = {"sleep": "sleeping", "wait": "waiting"}


def status_of(instance: Instance) -> Status:
    """The status that callers may see now (BND-5)."""
    if instance.terminal is not None:
        return instance.terminal.status
    if instance.contexts or instance.decision is not None:
        return "running"  # PUB-1: nothing parked or terminal is visible before the code is stopped
    latitude = instance.rules.latitude
    step = instance.history[instance.current] if instance.current is not None else None
    if step is None:
        return "queued"
    if parked_on(instance) is None and latitude.awake_status != "parked":
        return "running" if latitude.awake_status == "running" else "queued"  # STA-1
    if step.kind == "do":
        return latitude.retry_pending_status  # type: ignore[return-value]  # DO-9
    return _PARKED[step.kind]


def held(slot: Slot, now: int) -> bool:
    """Whether the id is taken at `now`: live, or terminal within its retention (BND-3, RET-1)."""
    if isinstance(slot, Vacant):
        return False
    return retained(slot, now) or slot.rules.latitude.after_retention == "held"  # RET-2


def retained(instance: Instance, now: int) -> bool:
    """Whether the instance must still be held at `now`: live, or within its minimum retention (RET-1)."""
    if instance.terminal is None:
        return True
    return now < instance.terminal_at + instance.rules.limits.retention_seconds * MILLISECONDS
