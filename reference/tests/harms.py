"""Ways in which a database fails, each begun and ended at an exact place by a test.

A harm is done to one store: to the connection that it has, and to every one that it makes meanwhile. What
others have open is as it was, so that a test can look at what is really kept.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fencepost.api.kept import Kept
from fencepost.durable.store import Store
from fencepost.durable.unit import ActionAt, Applied, Key, Unit
from fencepost.management.state import Rules
from sqlalchemy import event, text
from sqlalchemy.engine import Connection, make_url

POSTGRES = os.environ.get("FENCEPOST_POSTGRES", "")


class Relay:
    """A loopback address of a server of PostgreSQL; `cut` loses every connection through it, and new ones."""

    def __init__(self, url: str) -> None:
        known = psycopg.conninfo.conninfo_to_dict(url)
        host, port = str(known.get("host", "localhost")), int(known.get("port", 5432))
        self._server: Any = f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port)
        self._family = socket.AF_UNIX if host.startswith("/") else socket.AF_INET
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._guard = threading.Lock()
        self.down = False
        self._over = False
        place = {"host": "127.0.0.1", "port": self._listening.getsockname()[1]}
        given = "&".join(f"{name}={value}" for name, value in place.items())
        self.url = f"postgresql://{known.get('user', '')}@/{known.get('dbname', '')}?{given}"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """Lose everything."""
        with self._guard:
            self.down = True
            for each in self._pairs:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """Let connections be made again."""
        self.down = False

    def close(self) -> None:
        """End it."""
        self._over = True
        self.cut()
        self._thread.join()
        for each in (self._listening, *self._pairs):
            each.close()

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listening, selectors.EVENT_READ)
            while not self._over:
                for key, _ in selector.select(0.05):
                    if key.fileobj is self._listening:
                        self._accept(selector)
                    else:
                        self._pass_on(selector, key.fileobj)  # type: ignore[arg-type]

    def _accept(self, selector: selectors.BaseSelector) -> None:
        near, _ = self._listening.accept()
        with self._guard:
            if self.down:
                near.close()
                return
            far = socket.socket(self._family)
            far.connect(self._server)
            self._pairs |= {near: far, far: near}
        for each in (near, far):
            selector.register(each, selectors.EVENT_READ)

    def _pass_on(self, selector: selectors.BaseSelector, near: socket.socket) -> None:
        far = self._pairs.get(near)
        if far is None:
            return
        try:
            data = near.recv(65_536)
            far.sendall(data)
        except OSError:
            data = b""
        if not data:
            with self._guard:
                for each in (near, far):
                    selector.unregister(each)
                    del self._pairs[each]
                    each.close()


@contextlib.contextmanager
def unheard(store: Store, action: str = "") -> Iterator[list[str]]:
    """A connection to PostgreSQL that is lost with the answer to one commit, the first after such an action;
    gives the actions so far."""
    perform, acted, lost = Unit.perform, [], False

    def noted(unit: Unit, key: Key, make: ActionAt, *more: Any, **others: Any) -> Applied:
        applied = perform(unit, key, make, *more, **others)
        acted.append(type(applied.action).__name__)
        return applied

    def commit(connection: Connection) -> None:
        nonlocal lost
        if not lost and (not action or action in acted):
            lost = True
            driver: Any = connection.connection.dbapi_connection
            driver.commit()
            driver.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    event.listen(store._engine, "commit", commit)
    Unit.perform = noted  # type: ignore[method-assign]
    try:
        yield acted
    finally:
        Unit.perform = perform  # type: ignore[method-assign]
        event.remove(store._engine, "commit", commit)


@dataclass
class Database:
    """A store that can be harmed, the address of the same database for others, and how it is harmed."""

    store: Store
    place: str
    begin: Callable[[], None]
    end: Callable[[], None]
    why: str
    reads: bool = True
    """Whether the store can still be read."""

    ends: list[Callable[[], None]] = field(default_factory=list)

    @contextlib.contextmanager
    def harmed(self) -> Iterator[None]:
        """While this lasts, it fails."""
        self.begin()
        try:
            yield
        finally:
            self.end()


def _sqlite(folder: Path, pragma: str, undo: str, why: str) -> Database:
    store = Store(folder / "fencepost.db")
    harmed = False

    def say(connection: Any, words: str) -> None:
        connection.execute(words).close()

    def prepare(connection: Any, _: Any) -> None:
        if harmed:
            say(connection, pragma)

    def turn(on: bool) -> None:
        nonlocal harmed
        harmed = on
        if store._connection is not None:
            say(store._connection.connection.dbapi_connection, pragma if on else undo)

    event.listen(store._engine, "connect", prepare)
    place = str(folder / "fencepost.db")
    return Database(store, place, lambda: turn(True), lambda: turn(False), why)


def full(folder: Path) -> Database:
    """No page can be added to the file, and none in it is free."""
    place = folder / "fencepost.db"
    Store(place).close()
    with contextlib.closing(sqlite3.connect(place)) as packing:
        packing.execute("VACUUM")
    return _sqlite(folder, "PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000", "full")


def read_only(folder: Path) -> Database:
    """Nothing can be written."""
    return _sqlite(folder, "PRAGMA query_only = 1", "PRAGMA query_only = 0", "readonly")


def locked(folder: Path) -> Database:
    """Another process writes, and does not come to an end."""
    place = folder / "fencepost.db"
    store = Store(place, busy_seconds=0.3)
    other = sqlite3.connect(place, isolation_level=None, check_same_thread=False)

    def begin() -> None:
        other.execute("BEGIN IMMEDIATE")

    def end() -> None:
        other.execute("ROLLBACK")

    return Database(store, str(place), begin, end, "locked", ends=[other.close])


def lost(folder: Path) -> Database:
    """The connection to PostgreSQL is cut, and no new one can be made."""
    relay = Relay(POSTGRES)
    return Database(Store(relay.url), POSTGRES, relay.cut, relay.mend, ".", reads=False, ends=[relay.close])


def _server(url: str, setting: str, why: str, ends: list[Callable[[], None]] | None = None) -> Database:
    store = Store(url)
    harmed = False

    def say(driver: Any) -> None:
        driver.execute(f"SET {setting} = {'on' if harmed else 'off'}")
        driver.commit()

    def turn(on: bool) -> None:
        nonlocal harmed
        harmed = on
        if store._connection is not None:
            say(store._connection.connection.dbapi_connection)

    event.listen(store._engine, "connect", lambda driver, _: say(driver))
    return Database(store, url, lambda: turn(True), lambda: turn(False), why, ends=ends or [])


def server_read_only(folder: Path) -> Database:
    """The database of PostgreSQL takes no changes, as one that stands by does."""
    return _server(POSTGRES, "default_transaction_read_only", "read-only transaction")


FILL = """
CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF current_setting('fencepost.filled', true) = 'on' THEN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
    END IF;
    RETURN coalesce(NEW, OLD);
END $$
"""


def server_full(folder: Path) -> Database:
    """PostgreSQL says that its disk is full, whatever is written; in a database of its own."""
    name = f"fencepost_full_{os.getpid()}_{time.monotonic_ns()}"

    def say(url: str, *words: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            for each in words:
                connection.execute(each.encode())

    url = make_url(POSTGRES).set(database=name).render_as_string(hide_password=False)
    say(POSTGRES, f"CREATE DATABASE {name}")
    with contextlib.closing(Store(url)) as made:
        Kept(made, Rules()).forget()
        tables = made.rows(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"))
    every = "BEFORE INSERT OR UPDATE OR DELETE ON {} FOR EACH ROW EXECUTE FUNCTION fill()"
    say(url, FILL, *(f"CREATE TRIGGER fill {every.format(table)}" for (table,) in tables))
    drop = f"DROP DATABASE {name} WITH (FORCE)"
    return _server(url, "fencepost.filled", "No space left", [lambda: say(POSTGRES, drop)])


HARMS = [
    full,
    read_only,
    locked,
    pytest.param(lost, marks=pytest.mark.postgresql),
    pytest.param(server_read_only, marks=pytest.mark.postgresql),
    pytest.param(server_full, marks=pytest.mark.postgresql),
]
"""Every harm, as parameters of a test."""
