"""What is kept, as typed tables. Instants are integer milliseconds, documents their canonical bytes.

| table | one row is |
|---|---|
| `clock` | the one clock: how far the test instrument has moved it, and where it holds it |
| `resources` | a Workflow resource, and whether it is being deleted |
| `instances` | an instance: everything small and often written of the machine's `Instance` |
| `params` | the params of an instance, apart because they are large and never written again |
| `steps` | a step record |
| `events` | an event in the inbox |
| `contexts` | an owner token that is not proven stopped, and the worker that runs under it |
| `history` | an entry of the typed history: something delivered, or something committed |
| `commands` | a call that a caller gave an id of its own, as it was taken |
| `workers` | a process that runs contexts |

An instance has a number of its own, which is never used again: it tells two runs under one id apart. What is
derived (`status`, `due_at`, `fenced`) is written with what it is derived from, for the sake of an index.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

_ESCAPED = str.maketrans({"\\": "\\\\", "\0": "\\0"})


class Scalars(TypeDecorator[str]):
    """Text of any Unicode scalars: PostgreSQL takes no U+0000, so that is escaped, and so is the escape."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        """Escape; most texts have nothing to escape."""
        if value is None or not ("\\" in value or "\0" in value):
            return value
        return value.translate(_ESCAPED)

    def process_result_value(self, value: str | None, dialect: Any) -> str | None:
        """Undo it."""
        if value is None or "\\" not in value:
            return value
        return "\\".join(part.replace("\\0", "\0") for part in value.split("\\\\"))


NUMBER = BigInteger().with_variant(Integer, "sqlite")
"""A key that SQLite counts up by itself only under the name INTEGER."""

METADATA = MetaData()


class Table(SQLModel, registry=registry(metadata=METADATA)):
    """The base of our tables, with a catalogue of their own."""

    metadata = METADATA


def _instant(**more: Any) -> Any:
    return Field(sa_column=Column(BigInteger, **more))


def _text(**more: Any) -> Any:
    return Field(sa_column=Column(Scalars, **more))


def _bytes() -> Any:
    return Field(default=None, sa_column=Column(LargeBinary, nullable=True))


def _of_instance() -> Any:
    key = ForeignKey("instances.number", ondelete="CASCADE")
    return Field(sa_column=Column(NUMBER, key, primary_key=True, autoincrement=False))


class Clock(Table, table=True):
    __tablename__ = "clock"
    number: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    moved: int = _instant(nullable=False)
    held_at: int | None = _instant(nullable=True)
    wakes_held: bool = Field(default=False)


class Resource(Table, table=True):
    __tablename__ = "resources"
    uid: str = _text(primary_key=True)
    closed: bool = Field(default=False)


class Instance(Table, table=True):
    __tablename__ = "instances"
    __table_args__ = (
        UniqueConstraint("uid", "id", name="instances_by_id"),
        Index("instances_due", "uid", "due_at", sqlite_where=text("due_at IS NOT NULL"),
              postgresql_where=text("due_at IS NOT NULL")),
        {"sqlite_autoincrement": True},
    )  # fmt: skip
    number: int | None = Field(default=None, sa_column=Column(NUMBER, primary_key=True))
    uid: str = _text(nullable=False)
    id: str = _text(nullable=False)
    revision: int = _instant(nullable=False)
    created_at: int = _instant(nullable=False)
    ends_at: int = _instant(nullable=False)
    current: str | None = _text(nullable=True)
    inbox_bytes: int = _instant(nullable=False)
    accepted: int = _instant(nullable=False)
    owner: int = _instant(nullable=False)
    lease_until: int = _instant(nullable=False)
    token: int = _instant(nullable=False)
    closed: bool = Field(default=False)
    outcome: str | None = _text(nullable=True)
    outcome_at: int | None = _instant(nullable=True)
    reason: str | None = _text(nullable=True)
    output: bytes | None = _bytes()
    published: bool = Field(default=False)
    terminal_at: int = _instant(nullable=False)
    status: str = _text(nullable=False)
    due_at: int | None = _instant(nullable=True)
    crashes: int = Field(default=0)


class Params(Table, table=True):
    __tablename__ = "params"
    instance: int = _of_instance()
    document: bytes = Field(sa_column=Column(LargeBinary, nullable=False))


class Step(Table, table=True):
    __tablename__ = "steps"
    instance: int = _of_instance()
    name: str = _text(primary_key=True)
    position: int
    kind: str = _text(nullable=False)
    outcome: str | None = _text(nullable=True)
    document: bytes | None = _bytes()
    deadline: int | None = _instant(nullable=True)
    type: str | None = _text(nullable=True)
    maximum_attempts: int | None = None
    initial_delay: int | None = None
    backoff: str | None = _text(nullable=True)
    maximum_delay: int | None = None
    failures: int = 0


class Event(Table, table=True):
    __tablename__ = "events"
    instance: int = _of_instance()
    number: int = _instant(primary_key=True, autoincrement=False)
    type: str = _text(nullable=False)
    payload: bytes | None = _bytes()
    accepted_at: int = _instant(nullable=False)
    size: int = _instant(nullable=False)


class Context(Table, table=True):
    __tablename__ = "contexts"
    __table_args__ = (Index("contexts_of_worker", "worker", "fenced"),)
    instance: int = _of_instance()
    token: int = _instant(primary_key=True, autoincrement=False)
    version: str = _text(nullable=False)
    open: str | None = _text(nullable=True)
    replaying: bool = Field(default=False)
    fenced: bool = Field(default=False)
    worker: str | None = _text(nullable=True)


class Entry(Table, table=True):
    __tablename__ = "history"
    __table_args__ = (
        Index("history_of_instance", "instance", "number"),
        Index("one_outcome_an_attempt", "instance", "step", "attempt", unique=True,
              sqlite_where=text("kind = 'attempt'"), postgresql_where=text("kind = 'attempt'")),
        Index("one_outcome_an_execution", "instance", "step", unique=True,
              sqlite_where=text("settles"), postgresql_where=text("settles")),
        {"sqlite_autoincrement": True},
    )  # fmt: skip
    number: int | None = Field(default=None, sa_column=Column(NUMBER, primary_key=True))
    instance: int = Field(
        sa_column=Column(NUMBER, ForeignKey("instances.number", ondelete="CASCADE"), nullable=False)
    )
    kind: str = _text(nullable=False)
    at: int = _instant(nullable=False)
    owner: int = _instant(nullable=False)
    step: str = _text(nullable=False)
    attempt: int
    outcome: str = _text(nullable=False)
    settles: bool
    figure: int | None = _instant(nullable=True)
    version: str = _text(nullable=False)


class Command(Table, table=True):
    __tablename__ = "commands"
    uid: str = _text(primary_key=True)
    id: str = _text(primary_key=True)
    instance: int = Field(
        sa_column=Column(
            NUMBER, ForeignKey("instances.number", ondelete="CASCADE"), nullable=False, index=True
        )
    )
    call: str = _text(nullable=False)
    content: str = _text(nullable=False)
    at: int = _instant(nullable=False)


class Worker(Table, table=True):
    __tablename__ = "workers"
    name: str = _text(primary_key=True)
    machine: str = _text(nullable=False)
    pid: int
    began: str = _text(nullable=False)
    session: int
    session_began: str = _text(nullable=False)
    seen_until: int = _instant(nullable=False)
