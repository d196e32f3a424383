"""What can happen to management, as data, and what comes back.

`Request` is a caller's; its fresh `uid` and `operation` are used only where a mutation is accepted.
`Progress` and `Expire` are the machine's own moves, listed by `enabled`. The others are reports:
`VerifyBundle` and `Verify` end a verification, `Observe` brings the counts of a Workflow's instances,
`Purged` and `Retired` say that the data plane has proven its stops, `Living` says whether contexts still
run a Version. Instants are integer milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from fencepost.management.bundles import Manifest
from fencepost.management.state import Effect, OperationStatus, State


class Absent(Enum):
    """Stands for "no body at all", which differs from a JSON null."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class Request:
    """A management call: `target` is a path below the root, `spaces` are those that the principal may use."""

    now: int
    method: str
    target: str
    uid: str
    operation: str
    principal: str | None = None
    spaces: frozenset[str] = frozenset()
    key: str | None = None
    generation: str | int | None = None
    query: tuple[tuple[str, str], ...] = ()
    body: Any = ABSENT


@dataclass(frozen=True, slots=True)
class VerifyBundle:
    """The bytes of a bundle were looked at: its manifest, or why there is none."""

    now: int
    uid: str
    manifest: Manifest | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Verify:
    """The exports of a Version were looked at: class name -> is its ABI right; or why nothing was found."""

    now: int
    uid: str
    exports: Mapping[str, bool] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """An Operation takes one of its allowed moves."""

    now: int
    operation: str
    status: OperationStatus
    effect: Effect | None = None
    error: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Observe:
    """The data plane counted the instances of a Workflow, by status, at `now`."""

    now: int
    uid: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Purged:
    """Every instance of a Workflow that is being deleted is fenced, stopped and purged."""

    now: int
    uid: str


@dataclass(frozen=True, slots=True)
class Retired:
    """Every context that a Deployment being deleted had started is fenced and stopped."""

    now: int
    uid: str


@dataclass(frozen=True, slots=True)
class Living:
    """Contexts of a Version run, or none does any more."""

    now: int
    uid: str
    contexts: int


@dataclass(frozen=True, slots=True)
class Expire:
    """Operations whose retention is over are forgotten, with their keys."""

    now: int


Action = Request | VerifyBundle | Verify | Progress | Observe | Purged | Retired | Living | Expire


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a Request: HTTP status and JSON body, and the facts from which headers are written."""

    status: int
    body: dict[str, Any]
    location: str | None = None
    retry_after_seconds: int | None = None
    allow: tuple[str, ...] = ()

    @property
    def code(self) -> str | None:
        """The problem's code; nothing for a success."""
        return str(self.body["code"]) if self.status >= 400 else None


@dataclass(frozen=True, slots=True)
class Illegal:
    """An action that does not fit the state, which is left as it was."""

    reason: str


@dataclass(frozen=True, slots=True)
class Transition:
    """The next state, the answer (nothing for a report that was taken), and the clauses that decided."""

    state: State
    reply: Reply | Illegal | None
    clauses: tuple[str, ...] = ()
