"""What a transition leaves in the history of its instance.

Nothing is decided here: an entry tells how the state after a transition differs from the one before, and what
the machine replied.

| kind | told | committed |
|---|---|---|
| `lease` | an owner got the instance, until an instant (GRT-4) | no |
| `delivery` | an attempt was handed to an owner (GRT-2) | no |
| `expiry` | an owner's lease ran out, and the work can be delivered again (GRT-4) | no |
| `loss` | an owner is known to be gone | no |
| `late` | a report of a fenced owner was refused (GRT-10) | no |
| `attempt` | the outcome of an attempt | yes |
| `sleep` | a sleep has ended | yes |
| `event` | an event was consumed by a wait | yes |
| `timeout` | a wait has ended without one | yes |
| `end` | the terminal outcome of the run | yes |

A committed entry that *settles* is the terminal outcome of a step's execution, or of the run. There is at
most one of each (GRT-3).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

from fencepost.machine import Slot, Transition
from fencepost.machine.actions import (
    Action,
    BeginStep,
    Claim,
    CommitAttempt,
    Crash,
    Expire,
    OwnerAction,
    Park,
    Renew,
    Settle,
)
from fencepost.machine.replies import Accepted, Fenced, Reply, Run
from fencepost.machine.state import Instance, Step, Succeeded

Kind = Literal["lease", "delivery", "expiry", "loss", "late", "attempt", "sleep", "event", "timeout", "end"]

COMMITTED: frozenset[Kind] = frozenset({"attempt", "sleep", "event", "timeout", "end"})
"""The kinds that tell of something committed; the others tell of deliveries (GRT-10)."""

_REPORTS: Mapping[type[Action], str] = {
    BeginStep: "step",
    Park: "park",
    CommitAttempt: "result",
    Settle: "outcome",
}
"""What an owner that comes late may have wanted to say."""


class Entry(NamedTuple):
    """One line of a history; `at` is in milliseconds.

    `step` is empty in what is about the run itself. `figure` is the instant until which a lease is held, or
    the number of the consumed event.
    """

    kind: Kind
    at: int
    owner: int = 0
    step: str = ""
    attempt: int = 0
    outcome: str = ""
    settles: bool = False
    figure: int | None = None
    version: str = ""


def entries(before: Slot, action: Action, transition: Transition) -> Iterator[Entry]:
    """What a transition leaves behind, in order."""
    after = transition.state
    if not isinstance(after, Instance) or isinstance(action, Renew):
        return
    was = before if isinstance(before, Instance) else None
    if was is not None:
        yield from _delivered(was, action, transition)
        if after.history is not was.history:
            yield from _settled(was, after, action, transition.reply)
    if after.terminal is not None and (was is None or was.terminal is not after.terminal):
        yield Entry("end", action.now, outcome=after.terminal.reason or after.terminal.status, settles=True)


def _delivered(was: Instance, action: Action, transition: Transition) -> Iterator[Entry]:
    reply, now = transition.reply, action.now
    if isinstance(reply, Fenced):
        if type(action) in _REPORTS and isinstance(action, OwnerAction):
            yield Entry("late", now, action.token, outcome=_REPORTS[type(action)])
    elif reply.refused:
        return
    elif isinstance(action, Claim):
        yield Entry("lease", now, action.token, figure=action.lease_until, version=action.version)
    elif isinstance(action, BeginStep) and isinstance(reply, Run):
        yield Entry("delivery", now, action.token, action.name, reply.attempt)
    elif isinstance(action, Expire):
        yield Entry("expiry", now, was.owner, figure=was.lease_until)
    elif isinstance(action, Crash) and was.owner == action.token:
        yield Entry("loss", now, action.token)


class _Change(NamedTuple):
    """One step record that a transition wrote, and the record before."""

    name: str
    old: Step | None
    step: Step
    was: Instance
    after: Instance
    action: Action
    reply: Reply

    @property
    def settles(self) -> bool:
        """Whether an outcome was recorded; the same one again is as much a second one as another."""
        outcome = self.step.outcome
        return outcome is not None and (self.old is None or self.old.outcome is not outcome)

    @property
    def owner(self) -> int:
        """Who reported it, 0 where nobody did."""
        return self.action.token if isinstance(self.action, OwnerAction) else 0


def _settled(was: Instance, after: Instance, action: Action, reply: Reply) -> Iterator[Entry]:
    for name in after.history.changed(was.history):
        old, step = was.history.get(name), after.history[name]
        yield from _OUTCOMES[step.kind](_Change(name, old, step, was, after, action, reply))


def _attempt(change: _Change) -> Iterator[Entry]:
    name, old, step, was, *_ = change
    now, owner = change.action.now, change.owner or was.owner
    if old is not None and step.failures > old.failures:
        yield Entry("attempt", now, owner, name, step.failures, "failed", change.settles)
    elif change.settles:
        word = "succeeded" if isinstance(step.outcome, Succeeded) else "failed"
        yield Entry("attempt", now, owner, name, step.failures + 1, word, True)


def _sleep(change: _Change) -> Iterator[Entry]:
    if change.settles:
        yield Entry("sleep", change.action.now, change.owner, change.name, settles=True)


def _wait(change: _Change) -> Iterator[Entry]:
    if not change.settles:
        return
    if not isinstance(change.step.outcome, Succeeded):
        yield Entry("timeout", change.action.now, change.owner, change.name, settles=True)
        return
    taken: int | None
    if isinstance(change.reply, Accepted):  # handed over
        taken = change.reply.number
    else:
        left = {event.number for event in change.after.inbox}
        taken = next((event.number for event in change.was.inbox if event.number not in left), None)
    yield Entry("event", change.action.now, change.owner, change.name, settles=True, figure=taken)


_OUTCOMES: Mapping[str, Callable[[_Change], Iterator[Entry]]] = {
    "do": _attempt,
    "sleep": _sleep,
    "wait": _wait,
}
