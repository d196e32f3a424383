"""What workers hold on record, and what dead or silent ones have left.

What a dead worker left is proven stopped by the first other worker on its machine: see `processes`. What a
silent one of another machine left waits for a worker there.
"""

import logging
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import delete, select

from fencepost.durable import processes
from fencepost.durable import statements as sql
from fencepost.durable.store import Store
from fencepost.durable.unit import Unit
from fencepost.host.engine import Key
from fencepost.machine.actions import Action, Crash

LOG = logging.getLogger("fencepost.worker")

Context = tuple[Key, int]
Act = tuple[Key, Callable[[int, int], Action], int]
"""Something that happened to a context, at an instant that is not known yet."""


def contexts_of(rows: Iterable[Any]) -> list[Context]:
    """The contexts that rows with uid, id and token name."""
    return [((row.uid, row.id), row.token) for row in rows]


class Recovery:
    """Speaks for what this worker, `name`, and others hold; `lease` in milliseconds."""

    def __init__(self, store: Store, lease: int) -> None:
        self.store, self.name, self._lease = store, uuid.uuid4().hex, lease
        self._told_of: set[str] = set()

    def _say(self, acts: list[Act]) -> None:
        def say(unit: Unit) -> None:
            for key, kind, token in sorted(acts, key=lambda act: act[0]):
                unit.perform(key, lambda now, kind=kind, token=token: kind(now, token))  # type: ignore[misc]

        self.store.transact(say)

    def _say_crashed(self, contexts: list[Context]) -> None:
        """Say of contexts that nothing of them runs any more."""
        if contexts:
            self._say([(key, Crash, token) for key, token in contexts])

    def _held_by(self, worker: str) -> list[Context]:
        """The contexts of a worker that are on record."""
        return contexts_of(self.store.rows(sql.HELD_BY, {"worker": worker}))

    def recover(self) -> None:
        """Prove that what dead or silent workers of this machine left is stopped, so that others go on."""
        here, now = processes.machine(), self.store.now()
        for worker in self.store.rows(select(sql.workers).where(sql.workers.c.name != self.name)):
            gone = worker.machine == here and processes.began(worker.pid) != worker.began
            if not gone and worker.seen_until + self._lease > now:
                continue
            if worker.machine != here:
                self._tell_of(worker.name, worker.machine)
            elif processes.end_session(worker.session, worker.session_began):
                held = self._held_by(worker.name)
                self._say_crashed(held)
                self.store.run(delete(sql.workers).where(sql.workers.c.name == worker.name))
                LOG.warning("worker %s is gone; %d contexts of it are stopped", worker.name[:8], len(held))
        # one that stood still while it was recovered may have claimed since, and started nothing
        self._say_crashed(contexts_of(self.store.rows(sql.ORPHANED)))

    def _tell_of(self, name: str, machine: str) -> None:
        if name not in self._told_of:
            self._told_of.add(name)
            LOG.warning("worker %s of machine %s is silent: start one there to go on", name[:8], machine)
