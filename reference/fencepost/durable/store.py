"""The store: one database, opened by a path or a URL, and every transition in a transaction of it.

Whoever has an action puts it into the queue. One of those who wait there carries all that have gathered in
one transaction (a group commit), and then leaves that to the first who came meanwhile; nobody is answered
before it is durable. SQLite has one writer, which takes the write lock before it reads; PostgreSQL locks the
rows of the instances.

The clock is the database's: that of PostgreSQL's machine, and for SQLite, which lives on one machine, that
machine's. A row of it is moved, and held still, by the test instrument alone.

A database that cannot be reached or written raises `StoreUnavailable`, one line; the next call tries anew.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, exc, update
from sqlalchemy.engine import URL, make_url
from sqlalchemy.pool import StaticPool

from fencepost.durable import statements as sql
from fencepost.durable.prepared import prepared
from fencepost.durable.schema import SchemaRefused, bring_up
from fencepost.durable.unit import ActionAt, Applied, Cache, Key, Stale, Unit
from fencepost.history import History
from fencepost.machine import Rules, Slot

__all__ = ["SchemaRefused", "Store", "StoreUnavailable", "url_of"]

Result = TypeVar("Result")
_LOG = logging.getLogger("fencepost.store")
BUSY_SECONDS = 30.0
"""How long to wait for another process that writes into the same file of SQLite."""

STAMP_SECONDS = 0.002
"""How often to look at the stamp of a file, which other processes write into too."""

_SILENCE = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
}
"""When a connection to PostgreSQL that says nothing is lost, where its URL does not say (seconds, the last
one milliseconds)."""

_RACES = 20
_RACE_STATES = frozenset({"40001", "40P01", "23505"})
"""What PostgreSQL says of a transaction that lost a race: serialization, deadlock, a key that was taken."""


class StoreUnavailable(ConnectionError):
    """The database cannot be reached or written; one line that says why.

    `unheard` where the connection was lost with the answer to a commit: what was asked may have been kept.
    """

    def __init__(self, why: str, unheard: bool = False) -> None:
        super().__init__(why)
        self.unheard = unheard


def url_of(place: str | Path) -> URL:
    """The URL of a store: `:memory:`, a path, or a URL of SQLite or PostgreSQL; ValueError for others."""
    if "://" not in str(place):
        return URL.create("sqlite", database=str(place))
    url = make_url(str(place))
    drivers = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
    kind = url.drivername.partition("+")[0]
    if kind not in drivers:
        raise ValueError(f"{kind}: a store is a file of SQLite, or a URL that begins with postgresql://")
    return url.set(drivername=drivers[kind])


class _Work:
    """Something to do in a transaction, and what came of it."""

    def __init__(self, do: Callable[[Unit], Any], writes: bool) -> None:
        self.do, self.writes = do, writes
        self.turn = threading.Semaphore(0)
        """Released once it is done, or once its caller has to carry."""
        self.carries = False
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None


class Store:
    """Where instances are kept; used by any thread of any process. Closed at the end."""

    def __init__(
        self, place: str | Path, rules: Rules | None = None, *, busy_seconds: float = BUSY_SECONDS
    ) -> None:
        self.rules = rules or Rules()
        self.url = url_of(place)
        self._sqlite = self.url.drivername == "sqlite"
        self._busy_seconds = busy_seconds
        self._cache = Cache()
        self._gathered: list[_Work] = []
        self._gathering = threading.Lock()
        self._carried = False
        self._committing = threading.Lock()
        self._connection: Connection | None = None
        self._asked_to_commit = False
        self._hearing: list[tuple[Key | None, threading.Event]] = []
        self._stamp: int | None = None
        self._down_for_writes = False
        self._down = True  # nothing is logged while it is opened: that is said to whoever opens it
        self._engine = self._make_engine()
        self._driver: Any = self._engine.dialect.loaded_dbapi
        with self._guarded():
            bring_up(self._engine)
        self._down = False

    def close(self) -> None:
        """Let the database go."""
        with self._committing:
            self._drop()
            self._engine.dispose()

    # -- what happens in it ----------------------------------------------------------------------------

    @contextlib.contextmanager
    def hears(self, event: threading.Event, key: Key | None = None) -> Iterator[None]:
        """Have an event set once this process has made something to do; with a key, once that has ended."""
        hearing = (key, event)
        self._hearing.append(hearing)
        try:
            yield
        finally:
            self._hearing.remove(hearing)

    def _tell(self, due: bool, ended: set[Key]) -> None:
        if due or ended:
            for key, event in self._hearing.copy():
                if due if key is None else key in ended:
                    event.set()

    def stamp(self) -> int | None:
        """Another number once another process has committed to the file; None where only a look can tell."""
        if not self._sqlite or self._memory:
            return None
        if self._committing.acquire(blocking=False):  # or else it is read once that is over
            try:
                self._stamp = self._read_stamp()
            finally:
                self._committing.release()
        return self._stamp

    def _read_stamp(self) -> int | None:
        if self._connection is None:
            return None
        try:
            cursor = self._connection.connection.cursor()
            stamp: int = cursor.execute("PRAGMA data_version").fetchone()[0]
            cursor.close()
        except (exc.SQLAlchemyError, self._driver.Error):  # the look will say why
            return None
        return stamp

    def rest(self, told: threading.Event, seen: int | None, seconds: float) -> None:
        """Wait until an event is set, the stamp is no longer the one that was seen, or the time is over."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if told.wait(left if seen is None else min(left, STAMP_SECONDS)):
                return
            if seen is not None and self.stamp() != seen:
                return

    # -- what is done with it --------------------------------------------------------------------------

    def perform(self, key: Key, make: ActionAt, worker: str | None = None) -> Applied:
        """Apply one action, durably, at the instant of its transaction; `worker` is who claims."""
        return self.transact(lambda unit: unit.perform(key, make, worker))

    def slot(self, key: Key) -> Slot:
        """The state under a key."""
        return self.transact(lambda unit: unit.load(key), writes=False)

    def history(self, key: Key) -> History | None:
        """The history of the run that is held under a key, as of one instant."""
        return self.transact(lambda unit: unit.history(key), writes=False)

    def now(self) -> int:
        """The instant, in milliseconds."""
        return self.transact(lambda unit: unit.now, writes=False)

    def move_clock(self, milliseconds: int) -> None:
        """Move the clock; for the test instrument alone."""
        clock = sql.clock
        self.run(update(clock).values(moved=clock.c.moved + milliseconds))

    def hold_clock(self, at: int | None) -> None:
        """Let the clock stand still at an instant, but for what moves it; None lets it go. For tests."""
        self.run(update(sql.clock).values(held_at=at, moved=0))

    def run(self, statement: Any, values: Any = None) -> int:
        """Run one statement that is no transition; how many rows it was about."""
        count = int(self.transact(lambda unit: unit.run(statement, values).rowcount))
        self._tell(True, set())  # it may have moved the clock
        return count

    def rows(self, statement: Any, values: Any = None) -> Sequence[Any]:
        """The rows of one query."""
        found: Sequence[Any] = self.transact(lambda unit: unit.run(statement, values).all(), writes=False)
        return found

    def look_again(self, uid: str) -> None:
        """Have every live instance of a resource looked at, because something else has changed."""
        self.transact(lambda unit: unit.run(sql.LOOK_AGAIN, {"of": uid, "at": unit.now}))
        self._tell(True, set())

    def upsert(self, table: Any, **row: Any) -> None:
        """Write one row of a table that is no part of an instance."""
        self.run(sql.upsert(self._engine.dialect.name, table), row)

    # -- transactions ----------------------------------------------------------------------------------

    def transact(self, do: Callable[[Unit], Result], writes: bool = True) -> Result:
        """Do something in one transaction, maybe together with what others do; StoreUnavailable.

        It may be done anew where another process was faster, so it must not change anything else.
        """
        work = _Work(do, writes)
        with self._gathering:
            self._gathered.append(work)
            waits, self._carried = self._carried, True
        if waits:
            self._wait(work)
        if not work.done:
            self._carry(work)
        if work.error is not None:
            raise work.error
        result: Result = work.result
        return result

    def _wait(self, work: _Work) -> None:
        """Return once it is done, or has to be carried; whoever is interrupted keeps nobody else waiting."""
        try:
            work.turn.acquire()
        except BaseException:
            with self._gathering:
                if work in self._gathered:
                    self._gathered.remove(work)
                    if work.carries:
                        self._hand_over()
            raise

    def _carry(self, mine: _Work) -> None:
        """Commit all that have gathered, and leave what comes meanwhile to one of those who wait for it."""
        batch: list[_Work] = []
        try:
            with self._gathering:
                batch, self._gathered = self._gathered, []
            with self._committing:
                self._commit(batch)
        finally:
            for work in batch:
                if work is not mine:
                    work.turn.release()
            with self._gathering:
                self._hand_over()

    def _hand_over(self) -> None:
        self._carried = bool(self._gathered)
        if self._gathered:
            self._gathered[0].carries = True
            self._gathered[0].turn.release()

    def _commit(self, batch: list[_Work]) -> None:
        try:
            self._tried(batch)
        except BaseException as error:
            if len(batch) > 1 and not isinstance(error, StoreUnavailable):
                for work in batch:  # one of them is at fault: each on its own
                    self._commit([work])
                return
            for work in batch:
                work.error, work.done = error, True
            if not isinstance(error, Exception):
                raise

    def _tried(self, batch: list[_Work]) -> None:
        for race in range(_RACES):
            try:
                with self._guarded(writes=any(work.writes for work in batch)):
                    self._once(batch)
                return
            except Stale:
                self._cache = Cache()
                if race:
                    time.sleep(0.001 * race)
        raise StoreUnavailable("other processes were faster every time; try again")

    def _once(self, batch: list[_Work]) -> None:
        connection = self._connected()
        writes = any(work.writes for work in batch)
        connection.info["writes"] = writes
        unit = Unit(connection, self.rules, self._cache, writes and not self._sqlite, self._instant)
        self._asked_to_commit = False
        if not self._sqlite:  # what is read without a lock would be of several instants else
            connection.execution_options(isolation_level="READ COMMITTED" if writes else "REPEATABLE READ")
        try:
            with connection.begin():
                results = [work.do(unit) for work in batch]
                self._asked_to_commit = writes and not self._sqlite  # a file answers for itself
        except BaseException:
            self._cache.forget(unit.learned)
            raise
        for key, kept in unit.learned.items():
            self._cache.put(key, kept)
        for work, result in zip(batch, results, strict=True):
            work.result, work.done = result, True
        if self._down and (writes or not self._down_for_writes):
            self._down = self._down_for_writes = False
            _LOG.warning("the database answers again")
        self._tell(unit.made_due, unit.ended)

    # -- the clock -------------------------------------------------------------------------------------

    def _instant(self, connection: Connection) -> int:
        if self._sqlite:
            moved, held_at = prepared(sql.CLOCK, connection.dialect).rows(connection, {})[0]
            base = time.time_ns() // 1_000_000
        else:
            clock = prepared(sql.CLOCK_OF_POSTGRESQL, connection.dialect).rows(connection, {})
            moved, held_at, base = clock[0]
        return int(moved + (base if held_at is None else held_at))

    # -- the connection --------------------------------------------------------------------------------

    def _make_engine(self) -> Engine:
        if not self._sqlite:
            url = self.url.set(query=_SILENCE | dict(self.url.query))
            return create_engine(url, isolation_level="READ COMMITTED", pool_size=1, max_overflow=1)
        more: dict[str, Any] = {}
        if self.url.database in (None, "", ":memory:"):
            more["poolclass"] = StaticPool
        arguments = {"check_same_thread": False, "timeout": self._busy_seconds, "isolation_level": None}
        engine = create_engine(self.url, connect_args=arguments, **more)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self._engine.connect()
        return self._connection

    def _drop(self, broken: bool = False) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(exc.SQLAlchemyError, self._driver.Error):
                if broken:
                    connection.invalidate()
                connection.close()

    @contextlib.contextmanager
    def _guarded(self, writes: bool = False) -> Iterator[None]:
        """Say in one line what the database cannot do, once until it can: what can be read may still not be
        written. A lost race is no such thing."""
        try:
            yield
        except (exc.DBAPIError, self._driver.Error, OSError) as error:
            cause = getattr(error, "orig", None) or error
            answer = getattr(cause, "sqlstate", None)
            if isinstance(cause, self._driver.IntegrityError) or answer in _RACE_STATES:
                raise Stale from error
            self._drop(broken=not self._memory)
            why = " ".join(str(cause).split())
            self._down_for_writes |= writes
            if not self._down:
                self._down = True
                _LOG.error("the database cannot be used: %s", why)
            unheard = self._asked_to_commit and answer is None
            raise StoreUnavailable(f"the database cannot be used: {why}", unheard) from error

    @property
    def _memory(self) -> bool:
        return self._sqlite and self.url.database in (None, "", ":memory:")


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _begin_sqlite(connection: Connection) -> None:
    reads = connection.info.get("writes") is False
    connection.connection.cursor().execute("BEGIN" if reads else "BEGIN IMMEDIATE")
