"""What a database can do to a store: be new, or too new; be full, locked, read-only or gone."""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fencepost.durable import schema
from fencepost.durable import statements as sql
from fencepost.durable.store import SchemaRefused, Store, StoreUnavailable, url_of
from fencepost.durable.tables import METADATA, Scalars
from fencepost.durable.unit import Unit
from fencepost.machine import Rules
from fencepost.machine.actions import BeginStep, Claim, CommitAttempt, Create, Purge, SendEvent, Terminate
from fencepost.machine.replies import Accepted, Rejected
from fencepost.machine.state import Instance
from sqlalchemy import text, update

POSTGRES = os.environ.get("FENCEPOST_POSTGRES", "")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "fencepost.db", busy_seconds=0.01)
    yield opened
    opened.close()


def create(store: Store, id: str = "a", uid: str = "w") -> object:
    return store.perform((uid, id), lambda now: Create(now, id, b"{}")).transition.reply


def statement(store: Store, words: str) -> None:
    """Say something to the connection that the store has."""
    store.transact(lambda unit: None)
    connection = store._connection
    assert connection is not None
    with connection.begin():
        connection.execute(text(words))


@pytest.mark.parametrize("written", ["plain", "", "\0", "\\0", "\\\0\\\\0", "a\0\\", "\U0001f600\\n"])
def test_any_scalars_survive(written: str) -> None:
    kept = Scalars().process_bind_param(written, None)
    assert kept is not None
    assert "\0" not in kept
    assert Scalars().process_result_value(kept, None) == written


@pytest.mark.parametrize(
    ("place", "url"),
    [
        (":memory:", "sqlite:///%3Amemory%3A"),
        ("here/a.db", "sqlite:///here/a.db"),
        ("postgresql://u@h/d", "postgresql+psycopg://u@h/d"),
    ],
)
def test_a_store_is_named_by_a_path_or_a_url(place: str, url: str) -> None:
    assert str(url_of(place)) == url


def test_another_kind_of_database_is_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match=r"^mysql: a store is a file of SQLite, or"):
        url_of("mysql://h/d")


def test_migrations_lead_to_the_tables_that_the_program_has(store: Store) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    assert schema.known()[-1] == schema.HEAD
    with store._engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


EARLIER = """
INSERT INTO instances VALUES (7, 'w', 'a', 1, 0, 9, NULL, 0, 0, 0, 0, 3, 0, NULL, NULL, NULL, NULL, 0, 0,
  'queued', 0, 0);
INSERT INTO steps VALUES (7, 's\\\\', 0, 'do', 'step_failed', NULL, NULL, NULL, 2, 0, 'constant', 0, 2);
INSERT INTO steps VALUES (7, 't', 1, 'do', NULL, NULL, NULL, NULL, 2, 0, 'constant', 0, 0);
INSERT INTO attempts VALUES (7, 's\\\\', 1, 1, 10, NULL, NULL), (7, 's\\\\', 1, 2, 20, 30, 'failed'),
  (7, 's\\\\', 2, 3, 30, 40, 'failed'), (7, 't', 1, 3, 50, NULL, NULL);
INSERT INTO late_reports VALUES (1, 7, 1, 35, 'CommitAttempt');
"""


def test_what_an_earlier_version_kept_becomes_history(tmp_path: Path) -> None:
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine

    path = tmp_path / "fencepost.db"
    engine, config = create_engine(f"sqlite:///{path}"), Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    engine.dispose()
    with sqlite3.connect(path) as earlier:
        earlier.executescript(EARLIER)
    earlier.close()
    opened = Store(path)
    told = opened.history(("w", "a"))
    opened.close()
    assert told is not None
    assert told.run == "run-7"
    assert [each[:7] for each in told.entries] == [
        ("delivery", 10, 1, "s\\", 1, "", False),
        ("delivery", 20, 2, "s\\", 1, "", False),
        ("delivery", 30, 3, "s\\", 2, "", False),
        ("attempt", 30, 2, "s\\", 1, "failed", False),
        ("late", 35, 1, "", 0, "result", False),
        ("attempt", 40, 3, "s\\", 2, "failed", True),
        ("delivery", 50, 3, "t", 1, "", False),
    ]


def test_a_newer_schema_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "fencepost.db"
    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(
        SchemaRefused, match=r"^the database has tables of version 9999, .* update fencepost$"
    ):
        Store(path)


def test_a_file_survives_its_store(store: Store, tmp_path: Path) -> None:
    create(store)
    store.close()
    again = Store(tmp_path / "fencepost.db")
    assert isinstance(again.slot(("w", "a")), Instance)
    again.close()


def test_commits_are_safe_from_a_loss_of_power(store: Store) -> None:
    assert store.rows(text("PRAGMA synchronous"))[0][0] == 2
    assert store.rows(text("PRAGMA journal_mode"))[0][0] == "wal"


@pytest.mark.parametrize(
    ("words", "index"),
    [
        (sql.NEXT_DUE, "instances_due"),
        (sql.IS_DUE, "instances_due"),
        (sql.IS_DUE_RUNNING, "instances_due"),
        (sql.DUE, "instances_due"),
        (sql.DUE_RUNNING, "instances_due"),
        (sql.FENCED, "contexts_of_worker"),
    ],
    ids=["next", "is-due", "is-due-running", "due", "due-running", "fenced"],
)
def test_what_is_to_be_done_is_found_through_an_index(store: Store, words: object, index: str) -> None:
    """Whatever is parked beside it, and also before the planner has any figures."""
    compiled = words.compile(store._engine)  # type: ignore[attr-defined]
    plan = store.rows(text("EXPLAIN QUERY PLAN " + re.sub(r"\?", "1", str(compiled))))
    lines = [row.detail for row in plan]
    assert any(f"INDEX {index} (" in line for line in lines), lines
    assert not any("SCAN" in line or "B-TREE" in line for line in lines), lines


def fill_the_disk(store: Store) -> None:
    statement(store, "PRAGMA max_page_count = 1")


def write_protect(store: Store) -> None:
    statement(store, "PRAGMA query_only = 1")


def send_many(store: Store) -> None:
    """More than a page of the database takes."""
    for _ in range(200):
        store.perform(("w", "a"), lambda now: SendEvent(now, "big", b'"' + b"x" * 900 + b'"', 9))


@pytest.mark.parametrize(("harm", "why"), [(fill_the_disk, "full"), (write_protect, "readonly")])
def test_a_database_that_cannot_be_written_says_so_and_is_used_again(
    store: Store, caplog: pytest.LogCaptureFixture, harm: object, why: str
) -> None:
    create(store)
    harm(store)  # type: ignore[operator]
    with caplog.at_level(logging.WARNING), pytest.raises(StoreUnavailable, match=why):
        send_many(store)
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    held = store.slot(("w", "a"))
    assert isinstance(held, Instance)
    reply = store.perform(("w", "a"), lambda now: SendEvent(now, "go", None, 9)).transition.reply
    assert reply == Accepted(held.accepted + 1)
    assert caplog.records[-1].message == "the database answers again"


def test_a_writer_that_does_not_let_go_is_waited_for_so_long(store: Store, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "fencepost.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked"):
        create(store)
    other.execute("ROLLBACK")
    other.close()
    create(store)


def test_what_was_cached_is_not_believed_against_the_row(store: Store) -> None:
    create(store)
    store.run(update(sql.instances).values(revision=9, accepted=7))
    held = store.slot(("w", "a"))
    assert isinstance(held, Instance)
    assert held.accepted == 7


def test_whoever_listens_hears_of_what_is_due_and_of_the_end_that_it_waits_for(store: Store) -> None:
    due, ended, other = threading.Event(), threading.Event(), threading.Event()
    with store.hears(due), store.hears(ended, ("w", "a")), store.hears(other, ("w", "b")):
        create(store)
        assert (due.is_set(), ended.is_set()) == (True, False)
        store.perform(("w", "a"), Terminate)
        assert (ended.is_set(), other.is_set()) == (True, False)
    ended.clear()
    store.perform(("w", "a"), Purge)
    assert not ended.is_set()


def test_a_file_says_that_another_process_has_written(store: Store, tmp_path: Path) -> None:
    create(store)
    before = store.stamp()
    create(store, "b")
    assert store.stamp() == before is not None  # one's own commits are heard of otherwise
    other = Store(tmp_path / "fencepost.db")
    other.slot(("w", "a"))
    assert store.stamp() == before
    create(other, "c")
    assert store.stamp() != before
    other.close()


def test_calls_that_gather_are_one_transaction(store: Store) -> None:
    create(store)
    begun: list[bool] = []
    inside, outside = threading.Event(), threading.Event()

    def slow(unit: object) -> None:
        inside.set()
        assert outside.wait(10)

    first = threading.Thread(target=store.transact, args=(slow,))
    first.start()
    assert inside.wait(10)
    commit = store._once
    store._once = lambda batch: (begun.append(len(batch) > 1), commit(batch))[1]  # type: ignore[method-assign,func-returns-value]
    others = [threading.Thread(target=create, args=(store, f"i{n}")) for n in range(5)]
    for other in others:
        other.start()
    while len(store._gathered) < 5:
        pass
    outside.set()
    for thread in [first, *others]:
        thread.join(10)
    assert begun == [True]
    assert all(isinstance(store.slot(("w", f"i{n}")), Instance) for n in range(5))


def test_one_failure_spoils_nobody_elses_call(store: Store) -> None:
    from fencepost.durable.store import _Work

    works = [
        _Work(lambda unit: 1 / 0, True),
        _Work(lambda unit: unit.perform(("w", "b"), lambda n: Create(n, "b")), True),
    ]
    store._commit(works)
    assert isinstance(works[0].error, ZeroDivisionError)
    assert isinstance(store.slot(("w", "b")), Instance)


@pytest.mark.postgresql
def test_a_lost_connection_is_made_anew() -> None:
    store, other = Store(POSTGRES), Store(POSTGRES)
    create(store, "gone", uid := f"lost-{os.getpid()}")
    mine = store.rows(text("SELECT pg_backend_pid()"))[0][0]
    other.rows(text(f"SELECT pg_terminate_backend({mine})"))
    with pytest.raises(StoreUnavailable):
        create(store, "gone", uid)
    assert isinstance(create(store, "gone", uid), Rejected)
    store.close()
    other.close()


@pytest.mark.postgresql
def test_what_is_read_is_of_one_instant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody commits between the row of an instance and those of its steps: seen as `sleeping` once."""
    rules, key = Rules(), (f"read-{time.monotonic_ns()}", "a")
    reader, writer = Store(POSTGRES, rules), Store(POSTGRES, rules)
    writer.perform(key, lambda now: Create(now, "a", b"{}"))
    writer.perform(key, lambda now: Claim(now, 1, "v1", now + 60_000))
    writer.perform(key, lambda now: BeginStep(now, 1, "do", "s", {"effect": True}))
    before, kept = writer.slot(key), Unit._kept

    def meanwhile(unit: Unit, key: Any, row: Any) -> Any:
        monkeypatch.setattr(Unit, "_kept", kept)
        writer.perform(key, lambda now: CommitAttempt(now, 1))
        return kept(unit, key, row)

    monkeypatch.setattr(Unit, "_kept", meanwhile)
    assert reader.slot(key) == before
    assert reader.slot(key) == writer.slot(key) != before
    for store in (reader, writer):
        store.close()


@pytest.mark.postgresql
def test_of_two_processes_at_once_one_claims() -> None:
    first, second = Store(POSTGRES), Store(POSTGRES)
    key = (f"race-{os.getpid()}", "a")
    create(first, "a", key[0])
    replies: list[object] = []

    def claim(store: Store) -> None:
        for _ in range(20):
            applied = store.perform(key, lambda now: Claim(now, 1, "v1", now + 1000))
            replies.append(type(applied.transition.reply).__name__)

    threads = [threading.Thread(target=claim, args=(store,)) for store in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert replies.count("Done") == 1
    first.close()
    second.close()


@pytest.mark.postgresql
def test_what_is_being_created_while_its_resource_is_closed_is_closed_too() -> None:
    """Or else it would live on in a resource that is gone (DEL-3)."""
    first, second = Store(POSTGRES), Store(POSTGRES)
    uid = f"closing-{os.getpid()}"
    created, go_on = threading.Event(), threading.Event()

    def slowly(unit: Unit) -> None:
        unit.perform((uid, "late"), lambda now: Create(now, "late", b"{}"))
        created.set()
        assert go_on.wait(20)

    creating = threading.Thread(target=first.transact, args=(slowly,))
    closing = threading.Thread(target=second.transact, args=(lambda unit: unit.close_resource(uid),))
    creating.start()
    assert created.wait(20)
    closing.start()
    waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"
    with psycopg.connect(POSTGRES, autocommit=True) as watching:
        while closing.is_alive() and not watching.execute(waits).fetchone():
            pass
    go_on.set()
    for thread in (creating, closing):
        thread.join(20)
    held = first.slot((uid, "late"))
    assert isinstance(held, Instance)
    assert held.closed
    assert isinstance(create(first, "later", uid), Rejected)
    first.close()
    second.close()
