"""Instances as the page gets them: a line for the list, and everything about one.

Nothing is decided here. What an instance is parked for, its status and what a step came to are asked of the
machine; long documents are cut, and long lists too, and the view says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from fencepost.host.observation import Sighting, Snapshot
from fencepost.machine import parked_on, status_of
from fencepost.machine.state import Context, Instance, Step, Succeeded
from fencepost.serve import wording
from fencepost.serve.life import life

MOST_STEPS = 200
MOST_EVENTS = 100
SHOWN_DOCUMENT = 2000
"""Characters of a document that are shown where it stands alone."""

_DEADLINES: Mapping[str, str] = {"sleep": "wakes", "wait": "times out", "do": "tries again"}


def summary(instance: Instance) -> dict[str, Any]:
    """One line of the list."""
    terminal = instance.terminal
    return {
        "id": instance.id,
        "status": status_of(instance),
        "createdAt": instance.created_at,
        "endedAt": instance.terminal_at if terminal is not None else None,
        "deadline": deadline(instance),
        "doing": doing(instance),
        "steps": len(instance.history),
        "finished": sum(step.finished for step in instance.history.values()),
        "inbox": len(instance.inbox),
        "contexts": len(instance.contexts),
        "reason": terminal.reason if terminal is not None else None,
        "output": wording.document(terminal.output) if terminal is not None else "",
    }


def deadline(instance: Instance) -> dict[str, Any] | None:
    """The instant that a parked instance waits for, and what happens then."""
    step = parked_on(instance)
    return None if step is None else {"at": step.deadline, "what": _DEADLINES[step.kind]}


def doing(instance: Instance) -> dict[str, Any] | None:
    """The step that the owner has open, or that the instance is parked on."""
    owner = instance.context(instance.owner)
    name = owner.open if owner is not None else instance.current
    if name is None or not instance.live or name not in instance.history:
        return None
    step: Step = instance.history[name]
    return {"name": wording.cut(name, 80), "kind": step.kind, "type": step.type, "failures": step.failures}


def context(instance: Instance, each: Context, snapshot: Snapshot, since: int | None) -> dict[str, Any]:
    """One unstopped context."""
    return {
        "id": instance.id,
        "token": each.token,
        "owner": each.token == instance.owner,
        "pid": snapshot.processes.get((instance.id, each.token)),
        "since": since,
        "doing": doing(instance) if each.token == instance.owner else None,
    }


def detail(instance: Instance, sightings: Sequence[Sighting]) -> dict[str, Any]:
    """Everything about one instance, with its moments as a picture."""
    terminal = instance.terminal
    left_out = max(len(instance.history) - MOST_STEPS, 0)
    return summary(instance) | {
        "lifetimeEndsAt": instance.ends_at,
        "params": wording.document(instance.params, SHOWN_DOCUMENT),
        "output": wording.document(terminal.output, SHOWN_DOCUMENT) if terminal is not None else "",
        "history": [_step(name, step) for name, step in islice(instance.history.items(), left_out, None)],
        "earlierSteps": left_out,
        "events": [
            {
                "number": event.number,
                "type": wording.cut(event.type),
                "payload": wording.document(event.payload),
                "acceptedAt": event.accepted_at,
            }
            for event in instance.inbox[:MOST_EVENTS]
        ],
        "laterEvents": max(len(instance.inbox) - MOST_EVENTS, 0),
        "inboxBytes": instance.inbox_bytes,
        "life": life(sightings),
    }


def _step(name: str, step: Step) -> dict[str, Any]:
    word, document = wording.recorded(step.outcome, SHOWN_DOCUMENT)
    succeeded = step.kind == "do" and isinstance(step.outcome, Succeeded)
    return {
        "name": wording.cut(name, 256),
        "kind": step.kind,
        "outcome": word,
        "document": document,
        "attempts": step.failures + succeeded,
        "most": step.policy.maximum_attempts if step.policy is not None else None,
        "deadline": step.deadline,
        "type": step.type,
    }
