"""The machine's states as rows, and the way from one state to the next as changes of rows.

Total and lossless: what is read back equals what was written, field by field, but for `rules`, which the
store has itself. Values are immutable and shared between states: what is the same object has not changed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from fencepost.machine import enabled, next_instant, status_of
from fencepost.machine.actions import StopAck
from fencepost.machine.records import FrozenMap
from fencepost.machine.state import (
    Context,
    Event,
    Failed,
    Instance,
    Outcome,
    RetryPolicy,
    Rules,
    Step,
    Succeeded,
    Terminal,
)

Row = Mapping[str, Any]

PLAIN = (
    "created_at", "ends_at", "current", "inbox_bytes", "accepted", "owner", "lease_until", "token", "closed",
    "terminal_at",
)  # fmt: skip
"""The fields of an instance that are columns as they are."""

APART = ("rules", "id", "params", "history", "inbox", "contexts", "decision", "terminal")
"""Its other fields, which are keys, rows of other tables, or several columns."""

assert {each.name for each in fields(Instance)} == {*PLAIN, *APART}

_SUCCEEDED = "succeeded"
_POLICY = ("maximum_attempts", "initial_delay", "backoff", "maximum_delay")


@dataclass
class Changes:
    """What becomes of the rows of one instance."""

    instance: dict[str, Any]
    steps: list[dict[str, Any]]
    steps_gone: list[str]
    events: list[dict[str, Any]]
    events_gone: list[int]
    contexts: list[dict[str, Any]]
    contexts_gone: list[int]


def instance_row(instance: Instance, now: int) -> dict[str, Any]:
    """The columns of an instance, derived ones too."""
    outcome = instance.terminal or instance.decision
    if instance.terminal is not None and instance.decision is not None:
        raise ValueError("an instance is decided or terminal, not both")
    row: dict[str, Any] = {name: getattr(instance, name) for name in PLAIN}
    row |= {
        "outcome": outcome.status if outcome else None,
        "outcome_at": outcome.at if outcome else None,
        "reason": outcome.reason if outcome else None,
        "output": outcome.output if outcome else None,
        "published": instance.terminal is not None,
        "status": status_of(instance),
        "due_at": due_at(instance, now),
    }
    return row


def due_at(instance: Instance, now: int) -> int | None:
    """The first instant at which a Host has something to do by itself, stops of contexts apart."""
    if instance.closed or not instance.live:
        return None
    if any(not isinstance(action, StopAck) for action in enabled(instance, now)):
        return now
    instants = [next_instant(instance), instance.lease_until if instance.owner else None]
    return min((each for each in instants if each is not None), default=None)


def _outcome_columns(outcome: Outcome | None) -> tuple[str | None, bytes | None]:
    if isinstance(outcome, Succeeded):
        return _SUCCEEDED, outcome.document
    return (outcome.name if outcome is not None else None), None


def _outcome(word: str | None, document: bytes | None) -> Outcome | None:
    if word is None:
        return None
    return Succeeded(document) if word == _SUCCEEDED else Failed(word)  # type: ignore[arg-type]


def step_row(name: str, step: Step, position: int) -> dict[str, Any]:
    """A step record; every column is there, so that all rows are written by one statement."""
    word, document = _outcome_columns(step.outcome)
    policy = step.policy or (None, None, None, None)
    return {
        "name": name,
        "position": position,
        "kind": step.kind,
        "outcome": word,
        "document": document,
        "deadline": step.deadline,
        "type": step.type,
        "failures": step.failures,
    } | dict(zip(_POLICY, policy, strict=True))


def _step(row: Any) -> Step:
    policy = None
    if row.maximum_attempts is not None:
        policy = RetryPolicy(row.maximum_attempts, row.initial_delay, row.backoff, row.maximum_delay)
    outcome = _outcome(row.outcome, row.document)
    return Step(row.kind, outcome, row.deadline, row.type, policy, row.failures)


def _context_row(context: Context, owner: int) -> dict[str, Any]:
    return context._asdict() | {"fenced": context.token != owner}


def changes(before: Instance | None, after: Instance, now: int) -> Changes:
    """How the rows of `before` become those of `after`; None where there were none."""
    row = instance_row(after, now)
    if before is None:
        steps = [step_row(name, step, at) for at, (name, step) in enumerate(after.history.items())]
        contexts = [_context_row(each, after.owner) for each in after.contexts]
        return Changes(row, steps, [], [each._asdict() for each in after.inbox], [], contexts, [])
    steps, gone = _changed_steps(before, after)
    events, events_gone = _changed_events(before.inbox, after.inbox)
    contexts, contexts_gone = _changed_contexts(before, after)
    return Changes(row, steps, gone, events, events_gone, contexts, contexts_gone)


def _changed_steps(before: Instance, after: Instance) -> tuple[list[dict[str, Any]], list[str]]:
    old, new = before.history, after.history
    if old is new:
        return [], []
    gone = [name for name in old if name not in new]
    changed = set(new if gone else new.changed(old))  # the places of those behind a gap are others
    return [step_row(name, new[name], at) for at, name in enumerate(new) if name in changed], gone


def _changed_events(old: tuple[Event, ...], new: tuple[Event, ...]) -> tuple[list[dict[str, Any]], list[int]]:
    if old is new:
        return [], []
    had, has = {each.number for each in old}, {each.number for each in new}
    return [each._asdict() for each in new if each.number not in had], sorted(had - has)


def _changed_contexts(before: Instance, after: Instance) -> tuple[list[dict[str, Any]], list[int]]:
    if before.contexts is after.contexts and before.owner == after.owner:
        return [], []
    old = {each.token: _context_row(each, before.owner) for each in before.contexts}
    new = {each.token: _context_row(each, after.owner) for each in after.contexts}
    put = [row for token, row in new.items() if old.get(token) != row]
    return put, [token for token in old if token not in new]


def instance_of(
    row: Any,
    rules: Rules,
    params: bytes | None,
    steps: Iterable[Any],
    events: Iterable[Any],
    contexts: Iterable[Any],
) -> Instance:
    """The state that these rows hold; steps by position, events by number, contexts by token."""
    terminal = None
    if row.outcome is not None:
        terminal = Terminal(row.outcome, row.outcome_at, row.output, row.reason)
    return Instance(
        rules,
        row.id,
        params=params,
        history=FrozenMap({each.name: _step(each) for each in steps}),
        inbox=tuple(
            Event(each.number, each.type, each.payload, each.accepted_at, each.size) for each in events
        ),
        contexts=tuple(Context(each.token, each.version, each.open, each.replaying) for each in contexts),
        decision=None if row.published else terminal,
        terminal=terminal if row.published else None,
        **{name: getattr(row, name) for name in PLAIN},
    )
