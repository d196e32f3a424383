"""The state of management in the database that holds the instances: a row for each fact, a transaction each.

A fact is a Resource, an Operation, a key and so on, as JSON. What is written is what differs between the two
states of a change, which are immutable: whatever is still the same object has not changed. Readers of the
database can look at it; it is read back only when a Host starts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Column, MetaData, Table, Text, bindparam, delete, select
from sqlalchemy.schema import CreateTable

from fencepost.durable import statements as sql
from fencepost.durable.store import Store as Database
from fencepost.durable.store import StoreUnavailable
from fencepost.durable.unit import Unit
from fencepost.management.state import (
    Active,
    Finding,
    Operation,
    Registration,
    Resource,
    Rules,
    State,
    Tombstone,
)

_TABLE = Table(
    "management",
    MetaData(),
    Column("kind", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("document", Text, nullable=False),
)
_DELETE = delete(_TABLE).where(_TABLE.c.kind == bindparam("k"), _TABLE.c.id == bindparam("i"))

Facts = Mapping[Any, Any]


def _resource(fields: dict[str, Any]) -> Resource:
    finding = fields.pop("finding")
    if finding is not None:
        exports = tuple((name, fit) for name, fit in finding["exports"])
        finding = Finding(finding["sound"], exports, finding["detail"])
    return Resource(**fields, finding=finding)


def _operation(fields: dict[str, Any]) -> Operation:
    error = fields.pop("error")
    return Operation(**fields, error=tuple(error) if error is not None else None)


def _active(fields: dict[str, Any]) -> Active:
    return Active(fields["deployment"], tuple((uid, weight) for uid, weight in fields["weights"]))


def _pair(id: str) -> tuple[str, str]:
    principal, key = json.loads(id)
    return principal, key


@dataclass(frozen=True)
class _Kind:
    """One kind of fact: where the state has it, and how it is read."""

    field: str
    read: Callable[[dict[str, Any]], Any]
    key: Callable[[str], Any] = str

    def of(self, state: State) -> Facts:
        """The facts of a state, by their keys."""
        facts = getattr(state, self.field)
        return dict.fromkeys(facts, True) if isinstance(facts, frozenset) else facts

    def id(self, key: Any) -> str:
        """A key as text."""
        return key if isinstance(key, str) else json.dumps(list(key))


_KINDS: Mapping[str, _Kind] = {
    "resource": _Kind("resources", _resource),
    "tombstone": _Kind("tombstones", lambda fields: Tombstone(**fields)),
    "operation": _Kind("operations", _operation),
    "expired": _Kind("expired", bool),
    "key": _Kind("keys", lambda fields: Registration(**fields), _pair),
    "active": _Kind("active", _active),
    "living": _Kind("living", bool),
}
_SETS = frozenset({"expired", "living"})


def _changes(before: State, after: State) -> Iterator[tuple[str, str, Any]]:
    """What differs: kind, id, and the new fact, or None where it is gone."""
    for name, kind in _KINDS.items():
        if getattr(before, kind.field) is getattr(after, kind.field):
            continue
        old, new = kind.of(before), kind.of(after)
        for key, fact in new.items():
            if old.get(key) is not fact:
                yield name, kind.id(key), fact
        for key in old.keys() - new.keys():
            yield name, kind.id(key), None


class Kept:
    """Keeps the state of management in a database."""

    def __init__(self, database: Database, rules: Rules) -> None:
        self._database, self._rules = database, rules
        self._upsert = sql.upsert(database.url.get_backend_name(), _TABLE)
        self._made = self._unheard = False

    def load(self) -> State | None:
        """What was kept last. Raises StoreUnavailable."""
        rows = self._transact(lambda unit: unit.run(select(_TABLE)).all(), writes=False)
        found: dict[str, dict[Any, Any]] = {name: {} for name in _KINDS}
        for kind, id, document in rows:
            held = _KINDS[kind]
            value = json.loads(document)
            found[kind][held.key(id)] = held.read(value)
        oldest_first = sorted(found["operation"].values(), key=lambda each: each.created_at)
        found["operation"] = {each.id: each for each in oldest_first}
        fields: dict[str, Any] = {
            kind.field: frozenset(found[name]) if name in _SETS else found[name]
            for name, kind in _KINDS.items()
        }
        return State(rules=self._rules, **fields) if rows else None

    def commit(self, before: State, after: State) -> None:
        """Keep what differs, in one transaction; everything, where it is not known what has been kept."""
        anew = self._unheard
        changes = list(_changes(State(rules=self._rules) if anew else before, after))

        def write(unit: Unit) -> None:
            if anew:
                unit.run(delete(_TABLE))
            for kind, id, fact in changes:
                if fact is None:
                    unit.run(_DELETE, {"k": kind, "i": id})
                else:
                    document = json.dumps(fact if fact is True else asdict(fact))
                    unit.run(self._upsert, {"kind": kind, "id": id, "document": document})

        if changes or anew:
            try:
                self._transact(write)
            except StoreUnavailable as error:
                self._unheard = anew or error.unheard
                raise
            self._unheard = False

    def forget(self) -> None:
        """Keep nothing any more, for who begins anew in the same database."""
        self._transact(lambda unit: unit.run(delete(_TABLE)))

    def _transact(self, do: Callable[[Unit], Any], writes: bool = True) -> Any:
        if not self._made:
            self._database.transact(lambda unit: unit.run(CreateTable(_TABLE, if_not_exists=True)))
            self._made = True
        return self._database.transact(do, writes)
