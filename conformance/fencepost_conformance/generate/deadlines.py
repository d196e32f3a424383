"""The deadlines in play, and the instants around them to which the clock is worth moving.

They are read off the reference: the Host itself where it is ours, and one that runs the same entries beside
it where it is not. A Host with other latitudes may stand elsewhere; the list is an aim, not a judgement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.host.virtual import VirtualHost
from fencepost.machine.state import MILLISECONDS, Instance

LEASE, LIFETIME, RETENTION, RETRY = "the lease", "the lifetime", "the retention", "the retry"


@dataclass(frozen=True)
class Deadline:
    """What falls due at an instant, in milliseconds, of an instance, and of a step where it is one's."""

    what: str
    instance: str
    at: int
    step: str = ""

    def __str__(self) -> str:
        step = f" {self.step}" if self.step else ""
        return f"{self.what}{step} of {self.instance} ({seconds(self.at):g} s)"


@dataclass(frozen=True, repr=False)
class Around:
    """An instant at, just before or just after a deadline; the name of `OFFSETS` that says which."""

    where: str
    deadline: Deadline

    @property
    def at(self) -> int:
        """The instant in milliseconds."""
        return self.deadline.at + OFFSETS[self.where]

    def __repr__(self) -> str:
        return f"{self.where} {self.deadline}"


OFFSETS: Mapping[str, int] = {
    "onto": 0,
    "1 ms past": 1,
    "1 s past": 1000,
    "1 ms before": -1,
    "1 s before": -1000,
}


def seconds(milliseconds: int) -> float:
    """Milliseconds as the seconds of a schedule."""
    return milliseconds / MILLISECONDS if milliseconds % MILLISECONDS else milliseconds // MILLISECONDS


def in_play(host: VirtualHost) -> list[Deadline]:
    """Every deadline that lies ahead of the Host's clock, the nearest first."""
    found = {
        each
        for (uid, id), slot in host.slots.items()
        if uid == host.uid and isinstance(slot, Instance)
        for each in _of(id, slot)
        if each.at >= host.clock
    }
    return sorted(found, key=lambda each: (each.at, each.what, each.instance, each.step))


def _of(id: str, slot: Instance) -> Iterator[Deadline]:
    if slot.terminal is not None:
        yield Deadline(RETENTION, id, slot.terminal_at + slot.rules.limits.retention_seconds * MILLISECONDS)
        return
    for name, step in slot.history.items():
        if step.outcome is None and step.deadline is not None:
            kind = RETRY if step.kind == "do" else f"the {step.kind}"
            yield Deadline(kind, id, step.deadline, name)
    yield Deadline(LIFETIME, id, slot.ends_at)
    if slot.owner:
        yield Deadline(LEASE, id, slot.lease_until)


def around(host: VirtualHost) -> list[Around]:
    """The instants worth moving to, the nearest deadlines first; only later ones than now."""
    deadlines = in_play(host)
    steps = [each for each in deadlines if each.step]
    others = [each for each in deadlines if not each.step]
    choices = [Around(where, each) for where in OFFSETS for each in (*steps, *others)]
    return [each for each in choices if each.at > host.clock]


def known(host: Any) -> bool:
    """Whether deadlines can be read off a Host."""
    return isinstance(host, VirtualHost)
