"""The data plane: the instances of every Workflow, each context on the Version that the weights chose.

It is a worker over the database, which looks after several Workflows instead of one. What may be is the
machine's to say: this reads the state that the steward keeps, and has no copy of it. A restart loses nothing:
what an earlier process has left is proven stopped, and delivered again.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from typing import IO, Any

from sqlalchemy import bindparam, func, select

from fencepost.api.artifacts import Artifacts
from fencepost.api.calls import Calls
from fencepost.api.versions import Versions
from fencepost.api.workers import Workers
from fencepost.durable import statements as sql
from fencepost.durable.store import Store as Database
from fencepost.durable.unit import Unit
from fencepost.durable.worker import Worker
from fencepost.host.engine import Key
from fencepost.host.launching import Code
from fencepost.host.node_launching import Nodes
from fencepost.machine.actions import Purge
from fencepost.machine.state import Instance
from fencepost.management import forms, queries
from fencepost.management.machine import STATUSES
from fencepost.management.state import State, of_kind

_HELD = (
    select(sql.instances.c.uid, sql.instances.c.id, sql.contexts.c.token, sql.contexts.c.version)
    .select_from(sql.contexts)
    .join(sql.instances, sql.instances.c.number == sql.contexts.c.instance)
)
_DUE = select(sql.instances.c.uid).distinct().where(sql.instances.c.due_at <= bindparam("now"))
_COUNTS = select(sql.instances.c.status, func.count()).group_by(sql.instances.c.status)


class _Deployed(Worker):
    """Runs the instances of whatever is deployed."""

    def __init__(
        self, database: Database, nodes: Nodes, state: Callable[[], State], versions: Versions
    ) -> None:
        super().__init__(database, nodes, Code("", {}), uid="")
        self._state, self._versions = state, versions
        self._chance = random.Random()

    def uids(self) -> list[str]:
        """The undeleted Workflows of which anything is due now: one question, however many there are."""
        held = {each.uid for each in of_kind(self._state(), "DurableWorkflow")}
        due = self.store.transact(
            lambda unit: unit.run(_DUE, {"now": unit.now}).scalars().all() if held else (), writes=False
        )
        return [uid for uid in due if uid in held]

    def pick(self, unit: Unit, uid: str) -> str | None:
        """A Version by the weights of this instant (CTX-2); none while the Workflow is not ready (RES-4)."""
        state = self._state()
        workflow = queries.workflow(state, uid)
        if workflow is None or not queries.ready(state, uid):
            return None
        point = self._chance.randrange(forms.WEIGHT_SUM)
        return queries.choose(queries.weights(state, workflow.worker), point)

    def code(self, uid: str, version: str) -> Code:
        """The Workflow's class, of this Version's module."""
        return self._versions.code(uid, version)

    def lose(self, uids: frozenset[str]) -> None:
        """Stop every context of these Workflows, as if their owners were lost."""
        with self._guard:
            running = [each for each in self._running if each[0][0] in uids]
        for key, token in running:
            self.lost(key, token)

    def wake(self) -> None:
        """Look at once whether there is anything to do."""
        self._wake.set()


class Plane:
    """Runs what is deployed. `state` reads management as it is now; `NodeMissing` without Node."""

    def __init__(
        self,
        database: Database,
        state: Callable[[], State],
        artifacts: Artifacts,
        *,
        log: IO[Any] | int | None = None,
    ) -> None:
        self._database, self._state = database, state
        nodes = Nodes(log=log)
        self._calls = Calls(database, state)
        self.versions = Versions(state, artifacts, self._calls.binding)
        self.exports = self.versions.exports
        self.workers = Workers(state, self.versions.module, self.versions.env, nodes.pool)
        self._worker = _Deployed(database, nodes, state, self.versions)
        self._thread = threading.Thread(target=self._worker.run, name="fencepost-worker", daemon=True)

    def begin(self) -> None:
        """Begin to run."""
        self._calls.begin()
        self._thread.start()

    def close(self) -> None:
        """End everything that runs; what it was at is delivered again by the next one."""
        self.workers.close()
        self._calls.close()
        self._worker.close()
        if self._thread.ident is not None:
            self._thread.join()
        else:
            self._worker.launcher.close()

    def until_closed(self) -> None:
        """Return once this is closed, or has lost what runs its contexts."""
        self._thread.join()

    # -- what the steward asks -------------------------------------------------------------------------

    def counts(self, uid: str) -> Mapping[str, int]:
        """How many instances of a Workflow have each status (OBS-1)."""
        rows = self._database.rows(_COUNTS.where(sql.instances.c.uid == uid))
        return dict.fromkeys(STATUSES, 0) | {status: int(count) for status, count in rows}

    def shut(self, uid: str) -> None:
        """Close a Workflow that is being deleted, once (DEL-3)."""
        found = self._database.rows(sql.CLOSED, {"uid": uid})
        if not (found and found[0][0]):
            self._database.transact(lambda unit: unit.close_resource(uid))
            self._worker.wake()

    def purge(self, uid: str) -> bool:
        """Purge a closed Workflow; whether nothing of it is left (DEL-3, DEL-4)."""
        if self._database.rows(_HELD.where(sql.instances.c.uid == uid).limit(1)):
            self._worker.wake()
            return False
        return self._database.transact(lambda unit: _purged(unit, uid))

    def retire(self, worker: str) -> bool:
        """Stop every context of a Worker whose Deployment is being deleted."""
        state = self._state()
        workflows = of_kind(state, "DurableWorkflow")
        uids = frozenset(each.uid for each in workflows if forms.workflow(each).worker == worker)
        versions = of_kind(state, "WorkerVersion")
        self.workers.retire(frozenset(each.uid for each in versions if forms.version(each).worker == worker))
        self._worker.lose(uids)
        return not self._database.rows(_HELD.where(sql.instances.c.uid.in_(uids)).limit(1))

    def look_again(self) -> None:
        """Weights have changed: look whether anything can be started now, and end what has no weight."""
        self.workers.tidy()
        now = self._database.now()
        for each in of_kind(self._state(), "DurableWorkflow"):
            self._database.run(sql.LOOK_AGAIN, {"of": each.uid, "at": now})
        self._worker.wake()

    def contexts(self) -> Mapping[str, int]:
        """How many contexts run each Version."""
        found = dict(self.workers.contexts())
        for row in self._database.rows(_HELD):
            found[row.version] = found.get(row.version, 0) + 1
        return found

    def cut(self, versions: frozenset[str]) -> None:
        """Stop every context of these Versions, as if their owners were lost."""
        self.workers.retire(versions)
        for row in self._database.rows(_HELD.where(sql.contexts.c.version.in_(versions))):
            self._worker.lost((row.uid, row.id), row.token)


def _purged(unit: Unit, uid: str) -> bool:
    keys: list[Key] = [(uid, id) for id in unit.run(sql.IDS, {"uid": uid}).scalars().all()]
    for key in keys:
        slot = unit.load(key)
        if isinstance(slot, Instance) and slot.contexts:
            return False
    for key in keys:
        unit.perform(key, Purge)
    return True
