"""One transaction: load instances, `apply` the machine, save what it says.

An instance is loaded with its row's lock, where there are such locks, and what was loaded earlier is used
again if its revision is still the row's. A save compares the revision that was loaded, and for what an owner
reports also its token, inside of the statement that writes. Whoever lost that race gets `Stale`, and begins
anew.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row

from fencepost.durable import statements as sql
from fencepost.durable.codec import Changes, changes, instance_of
from fencepost.durable.prepared import prepared
from fencepost.history import Entry, History, entries
from fencepost.history import Kept as Taken
from fencepost.host.back_off import pause
from fencepost.host.commands import Command
from fencepost.machine import Rules, Slot, Transition, Vacant, apply
from fencepost.machine.actions import (
    Action,
    Claim,
    Close,
    CommitAttempt,
    Crash,
    Create,
    OwnerAction,
    Settle,
)
from fencepost.machine.replies import Reply
from fencepost.machine.state import Instance

Key = tuple[str, str]

ActionAt = Callable[[int], Action]
"""An action, once the instant of its transaction is known (milliseconds)."""


class Stale(Exception):
    """Somebody else wrote what this transaction had read."""


class Kept(NamedTuple):
    """An instance as it stands in the database."""

    number: int
    revision: int
    state: Instance
    crashes: int


class Cache:
    """What was read or written last, by key; only ever believed together with the revision of the row."""

    def __init__(self, most: int = 4096) -> None:
        self._kept: OrderedDict[Key, Kept] = OrderedDict()
        self._most = most

    def forget(self, keys: Iterable[Key]) -> None:
        """Know nothing of these."""
        for key in keys:
            self._kept.pop(key, None)

    def get(self, key: Key) -> Kept | None:
        """What is known of an instance."""
        return self._kept.get(key)

    def put(self, key: Key, kept: Kept | None) -> None:
        """Know it, or know nothing."""
        self._kept.pop(key, None)
        if kept is not None:
            self._kept[key] = kept
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)


class Applied(NamedTuple):
    """One action on what was kept under a key, and what the machine says of it."""

    key: Key
    action: Action
    before: Slot
    transition: Transition


class Unit:
    """One transaction on one connection. Once it is durable `learned` goes into the cache, and whoever waits
    is told whether anything is due and what has ended."""

    def __init__(
        self,
        connection: Connection,
        rules: Rules,
        cache: Cache,
        locks: bool,
        clock: Callable[[Connection], int],
    ) -> None:
        self._connection, self._rules, self._cache, self._clock = connection, rules, cache, clock
        self._locks = locks
        self._select = sql.INSTANCE_LOCKED if locks else sql.INSTANCE
        self._now: int | None = None
        self.learned: dict[Key, Kept | None] = {}
        self.made_due = False
        """Whether there is something to do now, or at another instant than before."""
        self.ended: set[Key] = set()

    @property
    def now(self) -> int:
        """The instant of this transaction, read once the first row is locked (milliseconds)."""
        if self._now is None:
            self._now = self._clock(self._connection)
        return self._now

    def run(self, statement: Any, values: Any = None) -> Any:
        """Run any statement."""
        return self._connection.execute(statement, values)

    def rows(self, statement: Any, **values: Any) -> list[Any]:
        """The rows of a query of the hot path."""
        return prepared(statement, self._connection.dialect).rows(self._connection, values)

    def write(self, statement: Any, *every: Mapping[str, Any]) -> int:
        """Write by a statement of the hot path; how many rows the last of them was about."""
        return prepared(statement, self._connection.dialect).write(self._connection, *every)

    # -- load ------------------------------------------------------------------------------------------

    def load(self, key: Key) -> Slot:
        """The state under a key, locked until the end of the transaction."""
        if key not in self.learned:
            found = self.rows(self._select, uid=key[0], id=key[1])
            self.learned[key] = self._kept(key, found[0]) if found else None
        kept = self.learned[key]
        return kept.state if kept is not None else Vacant(self._rules, self._closed(key[0]))

    def _kept(self, key: Key, row: Row[Any]) -> Kept:
        known = self._cache.get(key)
        if known is not None and known[:2] == (row.number, row.revision):
            return known
        number = row.number
        params = self.rows(sql.PARAMS, instance=number)
        state = instance_of(
            row,
            self._rules,
            params[0].document if params else None,
            self.rows(sql.STEPS, instance=number),
            self.rows(sql.EVENTS, instance=number),
            self.rows(sql.CONTEXTS, instance=number),
        )
        return Kept(number, row.revision, state, row.crashes)

    def _closed(self, uid: str) -> bool:
        """Whether a resource is closed; it is not while this transaction may create something in it."""
        if self._locks:
            self.rows(sql.HOLD_OPEN, uid=uid)
        found = self.rows(sql.CLOSED, uid=uid)
        return bool(found and found[0].closed)

    # -- apply and save --------------------------------------------------------------------------------

    def perform(self, key: Key, make: ActionAt, worker: str | None = None, back_off: bool = False) -> Applied:
        """Apply an action to what is kept under a key, and save what changed; `worker` is who claims."""
        before = self.load(key)
        action = make(self.now)
        applied = Applied(key, action, before, apply(before, action))
        self.keep(applied, worker, back_off)
        return applied

    def keep(self, applied: Applied, worker: str | None = None, back_off: bool = False) -> None:
        """Save what an action on a loaded instance came to."""
        key, _, before, transition = applied
        after = transition.state
        if after is not before:
            if isinstance(after, Vacant):
                self._vacate(key, after)
            else:
                self._save(applied, after, worker, back_off)
        self._record(applied)

    def _vacate(self, key: Key, after: Vacant) -> None:
        kept = self.learned[key]
        self.ended.add(key)
        if kept is None:  # a vacant id of a resource that is closed: that is kept of the resource
            self.write(
                sql.put_resource(self._connection.dialect.name), {"uid": key[0], "closed": after.closed}
            )
            return
        self._one(sql.DELETE_INSTANCE, {"n": kept.number, "r": kept.revision})
        self.learned[key] = None

    def _save(self, applied: Applied, after: Instance, worker: str | None, back_off: bool) -> None:
        key, action = applied.key, applied.action
        kept = self.learned[key]
        if kept is not None and isinstance(action, Create):  # RET-2: a new run under an old id
            self._one(sql.DELETE_INSTANCE, {"n": kept.number, "r": kept.revision})
            kept = None
        made = changes(kept.state if kept is not None else None, after, action.now)
        crashes = kept.crashes if kept is not None else 0
        if isinstance(action, CommitAttempt | Settle):
            crashes = 0
        elif back_off and isinstance(action, Crash) and made.instance["due_at"] == action.now:
            made.instance["due_at"] = action.now + pause(crashes)
            crashes += 1
        made.instance["crashes"] = crashes
        self.made_due |= not after.owner and made.instance["due_at"] is not None
        self.made_due |= any(row["fenced"] for row in made.contexts)
        if after.terminal is not None:
            self.ended.add(key)
        if kept is None:
            values = made.instance | {"uid": key[0], "id": key[1], "revision": 1}
            number, revision = self.rows(sql.INSERT_INSTANCE, **values)[0].number, 1
            if after.params is not None:
                self.write(sql.INSERT_PARAMS, {"instance": number, "document": after.params})
        else:
            number, revision = kept.number, kept.revision + 1
            where = {"n": number, "r": kept.revision}
            if isinstance(action, OwnerAction) and applied.before.owner == action.token:  # type: ignore[union-attr]
                self._one(sql.UPDATE_OWNED, made.instance | where | {"o": action.token})
            else:
                self._one(sql.UPDATE_INSTANCE, made.instance | where)
        self._save_children(number, made, action, worker)
        self.learned[key] = Kept(number, revision, after, crashes)

    def _one(self, statement: Any, values: dict[str, Any]) -> None:
        if self.write(statement, values) != 1:
            raise Stale

    def _save_children(self, number: int, made: Changes, action: Action, worker: str | None) -> None:
        dialect, of = self._connection.dialect.name, {"instance": number}
        if made.steps_gone:
            self.write(sql.DELETE_STEP, *({"i": number, "n": name} for name in made.steps_gone))
        if made.steps:
            self.write(sql.put_steps(dialect), *(row | of for row in made.steps))
        if made.events_gone:
            self.write(sql.DELETE_EVENT, *({"i": number, "n": each} for each in made.events_gone))
        if made.events:
            self.write(sql.INSERT_EVENT, *(row | of for row in made.events))
        if made.contexts_gone:
            self.write(sql.DELETE_CONTEXT, *({"i": number, "t": token} for token in made.contexts_gone))
        if made.contexts:
            claimed = action.token if isinstance(action, Claim) else None
            for row in made.contexts:
                mine = worker if row["token"] == claimed else None
                self.write(sql.put_context(dialect), row | of | {"worker": mine})

    def look_later(self, key: Key, at: int | None) -> None:
        """Nothing can be done about an instance before an instant, or before `look_again`."""
        kept = self.learned[key]
        if kept is not None:
            self.write(sql.LOOK_LATER, {"n": kept.number, "r": kept.revision, "at": at})

    # -- what diagnosis wants to know ------------------------------------------------------------------

    def _record(self, applied: Applied) -> None:
        """Keep what the transition leaves in the history of its instance (GRT-9, GRT-10)."""
        kept = self.learned[applied.key]
        if kept is None:
            return
        made = entries(applied.before, applied.action, applied.transition)
        rows = [each._asdict() | {"instance": kept.number} for each in made]
        if rows:
            self.write(sql.INSERT_ENTRY, *rows)

    def history(self, key: Key) -> History | None:
        """The history of the run that is held under a key."""
        state, kept = self.load(key), self.learned[key]
        if kept is None or not isinstance(state, Instance):
            return None
        lines = self.rows(sql.ENTRIES, instance=kept.number)
        commands = self.rows(sql.COMMANDS, instance=kept.number)
        return History(
            key[0],
            kept.number,
            state,
            [Entry(*row[2:]) for row in lines],
            [Taken(each.id, each.call, each.at) for each in commands],
        )

    # -- commands ----------------------------------------------------------------------------------------

    def once(self, key: Key, make: ActionAt, command: Command) -> Reply:
        """Apply an action under a command id, or answer as before; `CallError` if it was another one."""
        found = self.rows(sql.COMMAND, uid=key[0], command=command.id)
        if found:
            return command.again(found[0].content, found[0].id)
        applied = self.perform(key, make)
        kept = self.learned[key]
        if kept is not None and command.is_taken(applied.transition.reply):
            row = {"uid": key[0], "id": command.id, "instance": kept.number, "at": applied.action.now}
            self.write(sql.INSERT_COMMAND, row | {"call": command.call, "content": command.content})
        return applied.transition.reply

    # -- a whole resource --------------------------------------------------------------------------------

    def close_resource(self, uid: str) -> None:
        """Nothing new, and every owner fenced (DEL-3)."""
        if self._locks:
            self.rows(sql.HOLD_SHUT, uid=uid)
        self.write(sql.put_resource(self._connection.dialect.name), {"uid": uid, "closed": True})
        for id in self.run(sql.IDS, {"uid": uid}).scalars().all():
            self.perform((uid, id), Close)
