"""The instances of every deployed Workflow: the worker that runs them, and what a steward asks about them.

What may be is the machine's to say: both read the state that the steward keeps, and have no copy of it. All
else stands in the database, so that neither of them has to live on for the other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sqlalchemy import func, select

from fencepost.contexts.forkserver import ServerLost
from fencepost.durable import statements as sql
from fencepost.durable.recovery import Act, Context, contexts_of
from fencepost.durable.store import Store as Database
from fencepost.durable.store import StoreUnavailable
from fencepost.durable.unit import Unit
from fencepost.durable.worker import CONTEXTS, Worker
from fencepost.host.engine import Key
from fencepost.host.launching import Code, Launcher
from fencepost.machine.actions import Crash, Purge
from fencepost.machine.state import Instance
from fencepost.management import forms, queries
from fencepost.management.machine import STATUSES
from fencepost.management.state import State, of_kind

_HELD = (
    select(sql.instances.c.uid, sql.instances.c.id, sql.contexts.c.token, sql.contexts.c.version)
    .select_from(sql.contexts)
    .join(sql.instances, sql.instances.c.number == sql.contexts.c.instance)
)
_COUNTS = select(sql.instances.c.status, func.count()).group_by(sql.instances.c.status)


class Deployed(Worker):
    """Runs the instances of whatever is deployed; `code` has what a Workflow runs on a Version."""

    def __init__(
        self,
        database: Database,
        launcher: Launcher,
        state: Callable[[], State],
        code: Callable[[str, str], Code],
        contexts: int = CONTEXTS,
    ) -> None:
        super().__init__(database, launcher, Code("", {}), uid="", contexts=contexts)
        self._state, self._code_of = state, code
        self._chance = random.Random()

    def uids(self) -> list[str]:
        """The undeleted Workflows."""
        return [each.uid for each in of_kind(self._state(), "DurableWorkflow")]

    def pick(self, unit: Unit, uid: str) -> str | None:
        """A Version by the weights of this instant (CTX-2); none while the Workflow is not ready (RES-4)."""
        state = self._state()
        workflow = queries.workflow(state, uid)
        if workflow is None or not queries.ready(state, uid):
            return None
        point = self._chance.randrange(forms.WEIGHT_SUM)
        return queries.choose(queries.weights(state, workflow.worker), point)

    def code(self, uid: str, version: str) -> Code:
        """What a context of a Workflow runs on a Version."""
        return self._code_of(uid, version)

    def lose(self, contexts: Iterable[Context]) -> None:
        """Stop those of these contexts that run here and can be stopped, as if their owners were lost."""
        with self._guard:
            mine = [each for each in contexts if each in self._running]
        try:
            stopped: list[Act] = [(key, Crash, token) for key, token in mine if self.stop((key, token))]
        except ServerLost:
            self.fail()
            return
        try:
            self._say(stopped)
        except StoreUnavailable:  # then the next round says it
            self._lapsed += [(key, token) for key, _, token in stopped]
            raise

    def wake(self) -> None:
        """Look at once whether there is anything to do."""
        self._wake.set()


class Instances:
    """The part of a data plane that is about instances. `state` reads management as it is now."""

    def __init__(self, database: Database, state: Callable[[], State], worker: Deployed) -> None:
        self._database, self._state, self._worker = database, state, worker

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
        if self._held(sql.instances.c.uid == uid):
            self._worker.wake()
            return False
        return self._database.transact(lambda unit: _purged(unit, uid))

    def retire(self, worker: str) -> bool:
        """Stop every context of the Workflows of a Worker; whether that is proven."""
        workflows = of_kind(self._state(), "DurableWorkflow")
        uids = [each.uid for each in workflows if forms.workflow(each).worker == worker]
        of_these = sql.instances.c.uid.in_(uids)
        self._worker.lose(self._held(of_these))
        return not self._held(of_these)

    def look_again(self) -> None:
        """Look at every live instance: what could not be started may be startable now."""
        for each in of_kind(self._state(), "DurableWorkflow"):
            self._database.look_again(each.uid)
        self._worker.wake()

    def contexts(self) -> Mapping[str, int]:
        """How many contexts run each Version, where any do."""
        found: dict[str, int] = {}
        for row in self._database.rows(_HELD):
            found[row.version] = found.get(row.version, 0) + 1
        return found

    def cut(self, versions: frozenset[str]) -> None:
        """Stop every context of these Versions."""
        self._worker.lose(self._held(sql.contexts.c.version.in_(versions)))

    def _held(self, where: Any) -> list[Context]:
        """The contexts that are not proven stopped."""
        return contexts_of(self._database.rows(_HELD.where(where)))


def _purged(unit: Unit, uid: str) -> bool:
    keys: list[Key] = [(uid, id) for id in unit.run(sql.IDS, {"uid": uid}).scalars().all()]
    for key in keys:
        slot = unit.load(key)
        if isinstance(slot, Instance) and slot.contexts:
            return False
    for key in keys:
        unit.perform(key, Purge)
    return True
