"""What the page shows of a Host, kept up to date from the Host's moments and shared by all viewers.

A viewer is one open page, with a filter and perhaps one instance that it looks at. It is sent a *frame* when
something has happened: counts, the newest instances that fit its filter (those that it has not seen in their
present state), the contexts that are not stopped, the latest moments. How much of each is bounded, so that a
Host with thousands of instances costs a page no more than one with a few hundred.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from fencepost.host.observation import Sighting
from fencepost.host.running import RunningHost
from fencepost.machine import status_of
from fencepost.machine.actions import Claim
from fencepost.machine.state import Instance, Status
from fencepost.serve import life, views

STATUSES: tuple[Status, ...] = (
    "queued", "running", "sleeping", "waiting", "complete", "errored", "terminated",
)  # fmt: skip
MOST_INSTANCES = 200
MOST_CONTEXTS = 48
MOST_MOMENTS = 60


@dataclass
class Viewer:
    """What one page wants to see, and what it has been sent."""

    status: str = ""
    search: str = ""
    looks_at: str | None = None
    sent: dict[str, Instance] = field(default_factory=dict)
    number: int = 0
    seen: Instance | None = None


class Board:
    """The present of one Host, in the order in which its instances were created."""

    def __init__(self, host: RunningHost) -> None:
        self._host = host
        self._snapshot = host.snapshot()
        self._number = 0
        self._status: dict[str, Status] = {}
        self._counts: Counter[Status] = Counter()
        self._live: dict[str, None] = {}
        self._begun: dict[tuple[str, int], int] = {}
        self.refresh()

    def refresh(self) -> None:
        """Take in what has happened since the last time."""
        self._snapshot = self._host.snapshot()
        sightings = self._after(self._number)
        touched: Iterable[str] = dict.fromkeys(each.moment.instance for each in sightings)
        if self._number + len(sightings) != self._snapshot.number:
            touched = self._snapshot.instances  # some moments are forgotten: look at everything
        self._number = self._snapshot.number
        for each in sightings:
            if isinstance(each.moment.action, Claim):
                self._begun[each.moment.instance, each.moment.action.token] = each.moment.at
        for id in touched:
            self._take_in(id)
        for key in [key for key in self._begun if key[0] not in self._live]:
            del self._begun[key]

    def _take_in(self, id: str) -> None:
        instance = self._snapshot.instances.get(id)
        before = self._status.pop(id, None)
        if before is not None:
            self._counts[before] -= 1
        if instance is None or not instance.contexts:
            self._live.pop(id, None)
        else:
            self._live.setdefault(id)
        if instance is None:
            return
        self._status[id] = status_of(instance)
        self._counts[self._status[id]] += 1

    def frame(self, viewer: Viewer) -> dict[str, Any]:
        """What is new for a viewer, and the order in which to show it."""
        shown = list(islice(self._fitting(viewer), MOST_INSTANCES))
        changed = [views.summary(each) for each in shown if viewer.sent.get(each.id) is not each]
        viewer.sent = {each.id: each for each in shown}
        moments = self._moments(viewer)
        viewer.number = self._snapshot.number
        return {
            "now": self._snapshot.at,
            "closed": self._snapshot.closed,
            "counts": {status: self._counts[status] for status in STATUSES},
            "fitting": self._count(viewer),
            "order": [each.id for each in shown],
            "changed": changed,
            "contexts": list(islice(self._contexts(), MOST_CONTEXTS)),
            "running": sum(len(self._snapshot.instances[id].contexts) for id in self._live),
            "moments": moments,
            **self._looked_at(viewer),
        }

    def _fitting(self, viewer: Viewer) -> Iterator[Instance]:
        """The instances that a viewer wants to see, the newest first."""
        for id in reversed(list(self._snapshot.instances)):
            if viewer.status in ("", self._status.get(id)) and viewer.search in id:
                yield self._snapshot.instances[id]

    def _count(self, viewer: Viewer) -> int:
        if viewer.search:
            return sum(1 for _ in self._fitting(viewer))
        return self._counts[viewer.status] if viewer.status else len(self._status)  # type: ignore[index]

    def _contexts(self) -> Iterator[dict[str, Any]]:
        for id in reversed(self._live):
            instance = self._snapshot.instances[id]
            for each in instance.contexts:
                since = self._begun.get((id, each.token))
                yield views.context(instance, each, self._snapshot, since)

    def _moments(self, viewer: Viewer) -> list[dict[str, Any]]:
        first = max(viewer.number, self._snapshot.number - MOST_MOMENTS)
        return [life.row(each) for each in self._after(first)]

    def _looked_at(self, viewer: Viewer) -> dict[str, Any]:
        """The instance that the viewer looks at, if it has changed."""
        if viewer.looks_at is None:
            return {}
        instance = self._snapshot.instances.get(viewer.looks_at)
        if instance is None:
            return {"detail": None}
        if instance is viewer.seen:
            return {}
        viewer.seen = instance
        return {"detail": views.detail(instance, self._sightings(viewer.looks_at))}

    def _after(self, number: int) -> list[Sighting]:
        """The moments beyond a number, up to the snapshot."""
        return [each for each in self._host.sightings(number) if each.number <= self._snapshot.number]

    def _sightings(self, id: str) -> list[Sighting]:
        return [each for each in self._host.sightings() if each.moment.instance == id]
