"""The statements of the hot path, made once. Nothing here decides anything."""

from functools import cache
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, literal_column, select, update

from fencepost.durable.tables import METADATA

_table = METADATA.tables
clock = _table["clock"]
resources = _table["resources"]
instances = _table["instances"]
params = _table["params"]
steps = _table["steps"]
events = _table["events"]
contexts = _table["contexts"]
history = _table["history"]
commands = _table["commands"]
workers = _table["workers"]

CLOCK = select(clock.c.moved, clock.c.held_at)
CLOCK_OF_POSTGRESQL = select(
    clock.c.moved,
    clock.c.held_at,
    literal_column("CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)").label("base"),
)
CLOSED = select(resources.c.closed).where(resources.c.uid == bindparam("uid"))
HOLD_OPEN = select(func.pg_advisory_xact_lock_shared(func.hashtextextended(bindparam("uid"), 0)))
HOLD_SHUT = select(func.pg_advisory_xact_lock(func.hashtextextended(bindparam("uid"), 0)))
"""Where writers work at once: what is created in a resource is committed before that is closed, or after."""

INSTANCE = select(instances).where(instances.c.uid == bindparam("uid"), instances.c.id == bindparam("id"))
INSTANCE_LOCKED = INSTANCE.with_for_update()
"""Where rows can be locked: the row's lock is what makes one transition after the other (FOR UPDATE)."""

IDS = select(instances.c.id).where(instances.c.uid == bindparam("uid")).order_by(instances.c.id)
PARAMS = select(params.c.document).where(params.c.instance == bindparam("instance"))
STEPS = select(steps).where(steps.c.instance == bindparam("instance")).order_by(steps.c.position)
EVENTS = select(events).where(events.c.instance == bindparam("instance")).order_by(events.c.number)
CONTEXTS = select(contexts).where(contexts.c.instance == bindparam("instance")).order_by(contexts.c.token)

IS_DUE = (
    select(instances.c.id)
    .where(instances.c.uid == bindparam("uid"), instances.c.due_at <= bindparam("now"))
    .order_by(instances.c.due_at)
    .limit(bindparam("most"))
)
DUE = IS_DUE.with_for_update(skip_locked=True)
"""What other workers have in hand is skipped; SQLite has one writer, and leaves the words out."""

IS_DUE_RUNNING = IS_DUE.where(instances.c.status == "running")
DUE_RUNNING = DUE.where(instances.c.status == "running")
"""What may make room for a worker that has none: leases and lifetimes that are over."""

NEXT_DUE = (
    select(instances.c.due_at)
    .where(instances.c.uid == bindparam("uid"), instances.c.due_at.is_not(None))
    .order_by(instances.c.due_at)
    .limit(1)
)
LOOK_AGAIN = (
    update(instances)
    .where(instances.c.outcome.is_(None), instances.c.uid == bindparam("of"))
    .values(due_at=bindparam("at"))
)
"""Have every live instance looked at: `due_at` is a hint, and may always be too early."""

LOOK_LATER = (
    update(instances)
    .where(instances.c.number == bindparam("n"), instances.c.revision == bindparam("r"))
    .values(due_at=bindparam("at"))
)

_FIXED = ("number", "uid", "id", "revision", "created_at")
_WRITTEN = [each.name for each in instances.columns if each.name not in _FIXED]
_UPDATE = (
    update(instances)
    .where(instances.c.number == bindparam("n"), instances.c.revision == bindparam("r"))
    .values({name: bindparam(name) for name in _WRITTEN} | {"revision": bindparam("r") + 1})
)
UPDATE_INSTANCE = _UPDATE
UPDATE_OWNED = _UPDATE.where(instances.c.owner == bindparam("o"))  # PUB-2: a stale owner writes nothing
INSERT_INSTANCE = (
    insert(instances)
    .values({each.name: bindparam(each.name) for each in instances.columns if each.name != "number"})
    .returning(instances.c.number)
)
DELETE_INSTANCE = delete(instances).where(
    instances.c.number == bindparam("n"), instances.c.revision == bindparam("r")
)
INSERT_PARAMS = insert(params)
INSERT_EVENT = insert(events)
DELETE_EVENT = delete(events).where(events.c.instance == bindparam("i"), events.c.number == bindparam("n"))
DELETE_STEP = delete(steps).where(steps.c.instance == bindparam("i"), steps.c.name == bindparam("n"))
DELETE_CONTEXT = delete(contexts).where(
    contexts.c.instance == bindparam("i"), contexts.c.token == bindparam("t")
)
INSERT_ENTRY = insert(history).values(
    {each.name: bindparam(each.name) for each in history.columns if each.name != "number"}
)
ENTRIES = select(history).where(history.c.instance == bindparam("instance")).order_by(history.c.number)

COMMAND = (
    select(commands.c.call, commands.c.content, instances.c.id)
    .join(instances, instances.c.number == commands.c.instance)
    .where(commands.c.uid == bindparam("uid"), commands.c.id == bindparam("command"))
)
COMMANDS = (
    select(commands.c.id, commands.c.call, commands.c.at)
    .where(commands.c.instance == bindparam("instance"))
    .order_by(commands.c.at, commands.c.id)
)
INSERT_COMMAND = insert(commands)

FENCED = (
    select(instances.c.uid, instances.c.id, contexts.c.token)
    .join(instances, instances.c.number == contexts.c.instance)
    .where(contexts.c.worker == bindparam("worker"), contexts.c.fenced)
)
HELD_BY = (
    select(instances.c.uid, instances.c.id, contexts.c.token)
    .join(instances, instances.c.number == contexts.c.instance)
    .where(contexts.c.worker == bindparam("worker"))
)

ORPHANED = (
    select(instances.c.uid, instances.c.id, contexts.c.token)
    .join(instances, instances.c.number == contexts.c.instance)
    .where(contexts.c.worker.not_in(select(workers.c.name)))
)
"""Contexts of workers that are on record no more: nothing of such a worker runs."""


def upsert(dialect: str, table: Any, keep: tuple[str, ...] = ()) -> Any:
    """An insert that replaces the row of the same key, but for the columns to keep."""
    if dialect == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as made
    else:
        from sqlalchemy.dialects.sqlite import insert as made  # type: ignore[assignment]
    statement = made(table)
    key = [each.name for each in table.primary_key.columns]
    replaced = {
        each.name: statement.excluded[each.name]
        for each in table.columns
        if each.name not in key and each.name not in keep
    }
    return statement.on_conflict_do_update(index_elements=key, set_=replaced)


@cache
def put_steps(dialect: str) -> Any:
    """Write step records, new or not."""
    return upsert(dialect, steps)


@cache
def put_context(dialect: str) -> Any:
    """Write a context; the worker that claimed it stays."""
    return upsert(dialect, contexts, keep=("worker",))


@cache
def put_resource(dialect: str) -> Any:
    """Write a resource, known or not."""
    return upsert(dialect, resources)
