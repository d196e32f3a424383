"""Hosts that break one promise, so that every check is seen to fail: `--fault NAME` runs a campaign on one.

Each is the campaign's worker with a few lines changed, in every worker process; the API process and callers
are as they always are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fencepost.durable import statements as sql
from fencepost.durable import unit, worker
from fencepost.machine import Transition, enabled
from fencepost.machine.actions import BeginStep, Claim
from fencepost.machine.records import evolve
from fencepost.machine.state import Instance, Succeeded
from sqlalchemy import update

Made = type[Any]

EARLY_MILLISECONDS = 700


def _applying(change: Callable[[Any, Any, Transition], Transition]) -> None:
    """Have a worker's machine say something else."""
    apply = vars(unit)["apply"]

    def changed(slot: Any, action: Any) -> Transition:
        return change(slot, action, apply(slot, action))

    vars(unit)["apply"] = changed


def _leaves_the_dead(base: Made) -> Made:
    """ends: what a dead worker left is never proven stopped."""

    class Leaves(base):  # type: ignore[misc]
        def recover(self) -> None:
            """Look at nobody."""

    return Leaves


def _forgets_events(base: Made) -> Made:
    """events: a context that starts finds the inbox empty."""

    def change(slot: Any, action: Any, made: Transition) -> Transition:
        if isinstance(action, Claim) and isinstance(made.state, Instance) and made.state.inbox:
            return made._replace(state=evolve(made.state, inbox=(), inbox_bytes=0))
        return made

    _applying(change)
    return base


def _uses_events_twice(base: Made) -> Made:
    """events: what a wait takes out of the inbox stays there."""

    def change(slot: Any, action: Any, made: Transition) -> Transition:
        after = made.state
        if isinstance(action, BeginStep) and isinstance(after, Instance) and after.inbox != slot.inbox:
            return made._replace(state=evolve(after, inbox=slot.inbox, inbox_bytes=slot.inbox_bytes))
        return made

    _applying(change)
    return base


def _writes_over_outcomes(base: Made) -> Made:
    """outcomes: a context that starts gives the first step another outcome."""

    def change(slot: Any, action: Any, made: Transition) -> Transition:
        after = made.state
        if not isinstance(action, Claim) or not isinstance(after, Instance):
            return made
        for name, step in after.history.items():
            if step.kind == "do" and isinstance(step.outcome, Succeeded):
                other = step._replace(outcome=Succeeded(b'{"execution":99}'))
                return made._replace(state=evolve(after, history=after.history.put(name, other)))
        return made

    _applying(change)
    return base


def _writes_over_ends(base: Made) -> Made:
    """terminal: what is complete is terminated a while later."""

    class Writes(base):  # type: ignore[misc]
        def _renew(self) -> None:
            super()._renew()
            over, of = {"outcome": "terminated", "status": "terminated", "output": None}, sql.instances.c
            self.store.run(update(sql.instances).where(of.outcome == "complete").values(over))

    return Writes


def _believes_its_cache(base: Made) -> Made:
    """fences: what was read once is believed, and written without a look at revision or token."""

    def believed(self: Any, key: Any, row: Any) -> Any:
        known = self._cache.get(key)
        if known is not None and known.number == row.number:
            return known._replace(revision=row.revision)
        return kept(self, key, row)

    kept = unit.Unit._kept
    unit.Unit._kept = believed  # type: ignore[method-assign]
    return base


def _records_no_delivery(base: Made) -> Made:
    """deliveries: an attempt is begun without being put on record."""
    entries = vars(unit)["entries"]

    def forgetful(*transition: Any) -> Any:
        return (each for each in entries(*transition) if each.kind != "delivery")

    vars(unit)["entries"] = forgetful
    return base


def _wakes_early(base: Made) -> Made:
    """judge: deadlines are processed before they have come."""

    def early(slot: Any, now: int, **more: Any) -> Any:
        return enabled(slot, now + EARLY_MILLISECONDS, **more)

    vars(worker)["enabled"] = early
    return base


FAULTS: Mapping[str, Callable[[Made], Made]] = {
    "leaves-the-dead": _leaves_the_dead,
    "forgets-events": _forgets_events,
    "uses-events-twice": _uses_events_twice,
    "writes-over-outcomes": _writes_over_outcomes,
    "writes-over-ends": _writes_over_ends,
    "believes-its-cache": _believes_its_cache,
    "records-no-delivery": _records_no_delivery,
    "wakes-early": _wakes_early,
}


def breaking(base: Made, fault: str | None) -> Made:
    """A worker with this fault, or the sound one."""
    return base if fault is None else FAULTS[fault](base)
