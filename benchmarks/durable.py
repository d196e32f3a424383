"""Completed workflows a second on the durable Host, three `do` steps each, beside DBOS and bare commits.

Run ``python benchmarks/durable.py [FOLDER] [--rounds N] [--seconds N]``; the figures are those of the disk of
FOLDER. The contestants take turns, round after round, and the medians are compared:

- *commits*: one small insert a commit on bare SQLite, and nothing else: the ceiling;
- *store*: the ten transitions of a workflow, each asked for and durable before the next;
- *worker*: callers and a worker in one process, every context a fork of the module, as users run them;
- *trusted*: the same, with contexts on threads of the worker. Nobody can prove that such a thread has
  stopped, so this is no Host; it says what the processes cost;
- *dbos*: three steps under DBOS Transact where it is installed, with its own journal and with WAL.

Each but the commits runs one workflow after the other, and with 32 in flight. All are on files of SQLite with
``synchronous=FULL``, which is read back from a connection of each: nothing is answered before it is on disk.

Last, how long after it was due a parked instance runs on, with 10,000 and with 100,000 others parked.
"""

import argparse
import contextlib
import importlib.util
import json
import logging
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fencepost import documents
from fencepost.contexts.execution import Execution, Proposal
from fencepost.contexts.forkserver import Export, Module
from fencepost.durable import statements as sql
from fencepost.durable.host import UID, DurableHost
from fencepost.durable.store import Store
from fencepost.durable.worker import Worker
from fencepost.host.launching import Code, Forks, Launcher
from fencepost.machine.actions import BeginStep, Claim, CommitAttempt, Create, Park, Settle, StopAck
from fencepost.machine.latitude import REFERENCE
from fencepost.workflow import WorkflowEvent
from sqlalchemy import text

IN_FLIGHT = 32
STEPS = 3
PARKED = (10_000, 100_000)
WAKES = 60
MODULE = f"""
class Work:
    def __init__(self, env):
        pass

    async def run(self, event, step):
        for n in range({STEPS}):
            await step.do(f"step {{n}}", lambda: {{"n": n}})
        return {{}}
"""
DBOS = """
import json, sqlite3, sys, threading, time

place, seconds, journal = sys.argv[1], float(sys.argv[2]), sys.argv[3]
if journal:
    sqlite3.connect(place).execute(f"PRAGMA journal_mode = {journal}")

from dbos import DBOS
from dbos._dbos import _get_dbos_instance

DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{place}", "log_level": "ERROR"})

@DBOS.step()
def step(n):
    return {"n": n}

@DBOS.workflow()
def work():
    for n in range(3):
        step(n)
    return {}

DBOS.launch()
work()
with _get_dbos_instance()._sys_db.engine.connect() as connection:
    asked = ("journal_mode", "synchronous")
    found = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in asked}

def rate(callers):
    done, began = [0] * callers, time.perf_counter()
    def call(number):
        while time.perf_counter() < began + seconds:
            work()
            done[number] += 1
    threads = [threading.Thread(target=call, args=(number,)) for number in range(callers)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return sum(done) / (time.perf_counter() - began)

print(json.dumps({"1": rate(1), "32": rate(32), **found}))
DBOS.destroy()
"""

Figures = dict[str, float]


def rate(work: Callable[[int, int], None], callers: int, seconds: float) -> float:
    """How often a second `work` gets done by so many threads; it is told which, and how often it was done."""
    done = [0] * callers
    began = time.perf_counter()

    def call(number: int) -> None:
        while time.perf_counter() < began + seconds:
            work(number, done[number])
            done[number] += 1

    threads = [threading.Thread(target=call, args=(number,)) for number in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (time.perf_counter() - began)


def both(name: str, work: Callable[[int, int], None], seconds: float) -> Figures:
    """One after the other, and many at once."""
    return {name: rate(work, 1, seconds), f"{name}, {IN_FLIGHT} in flight": rate(work, IN_FLIGHT, seconds)}


def commits(folder: Path, seconds: float) -> Figures:
    """Bare commits a second."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, document BLOB)")

    def work(_: int, __: int) -> None:
        connection.execute("INSERT INTO t (document) VALUES (?)", (b'{"n":1}',))

    figure = rate(work, 1, seconds)
    connection.close()
    return {"commits": figure}


def durable(store: Store) -> Store:
    """The store, if it is as durable as it says."""
    (synchronous,), (journal,) = (
        store.rows(text(f"PRAGMA {name}"))[0] for name in ("synchronous", "journal_mode")
    )
    assert (synchronous, journal) == (2, "wal")
    return store


def transitions(folder: Path, seconds: float) -> Figures:
    """Workflows a second as transitions of the store, by their callers' threads."""
    store, names = durable(Store(folder / "store.db")), time.monotonic_ns()

    def life(caller: int, number: int) -> None:
        key = (UID, f"{names}-{threading.active_count()}-{caller}-{number}")

        def perform(make: Callable[[int], Any]) -> None:
            store.perform(key, make)

        perform(lambda now: Create(now, key[1], b"{}"))
        perform(lambda now: Claim(now, 1, "v1", now + 30_000))
        for n in range(STEPS):
            perform(lambda now, n=n: BeginStep(now, 1, "do", f"step {n}", {"effect": True}))  # type: ignore[misc]
            perform(lambda now: CommitAttempt(now, 1, b'{"n":1}'))
        perform(lambda now: Settle(now, 1, b"{}"))
        perform(lambda now: StopAck(now, 1))

    figures = both("store", life, seconds)
    store.close()
    return figures


@contextlib.contextmanager
def working(store: Store, launcher: Launcher) -> Iterator[None]:
    """A worker on a thread."""
    worker = Worker(store, launcher, Code("Work", {}), uid=UID)
    thread = threading.Thread(target=worker.run)
    thread.start()
    yield
    worker.close()
    thread.join()


def workers(name: str, launcher: Callable[[Path], Launcher], folder: Path, seconds: float) -> Figures:
    """Workflows a second through a worker in this process, from the call to its answer."""
    module = folder / "work.py"
    module.write_text(MODULE)
    store = durable(Store(folder / f"{name}.db"))
    with working(store, launcher(module)):
        hosts = [DurableHost(store) for _ in range(IN_FLIGHT)]
        hosts[0].start().wait(30)
        figures = both(name, lambda caller, _: (hosts[caller].start().wait(60), None)[1], seconds)
    store.close()
    return figures


class Threads:
    """Contexts on threads of this process: trusted to end by themselves, and never stopped before."""

    session = 0

    def __init__(self, module: Path) -> None:
        self._exports = Module(path=str(module)).evaluate()

    def close(self) -> None:
        """Nothing runs any more."""

    def launch(self, listener: Any, key: Any, token: int, instance: Any, code: Code) -> Any:
        """Start a context."""
        port = _Port(listener, key, token)
        params = None if instance.params is None else documents.decode(instance.params)
        event = WorkflowEvent(instance.id, params)
        execution = Execution(lambda: self._exports, code.class_name, code.env, event, port, REFERENCE)
        threading.Thread(target=port.drive, args=(execution,)).start()
        return port


class _Port:
    """A context's way to its worker, and what the worker holds of it."""

    pid = None

    def __init__(self, listener: Any, key: Any, token: int) -> None:
        self._listener, self._key, self._token = listener, key, token

    def begin(self, kind: Any, name: Any, arguments: Any) -> Any:
        return self._listener.begin_step(self._key, self._token, kind, name, arguments)

    def park(self) -> Any:
        raise NotImplementedError

    def stop(self) -> None:
        """It is trusted to have nothing more to do."""

    def join(self) -> None:
        """It ends by itself."""

    def drive(self, execution: Execution) -> None:
        while not execution.dead:
            signal = execution.turn()
            if isinstance(signal, Proposal):
                execution.deliver(self._listener.propose(self._key, self._token, signal))


def dbos(folder: Path, seconds: float, journal: str = "") -> Figures:
    """Workflows a second under DBOS, where it is installed."""
    if importlib.util.find_spec("dbos") is None:
        return {}
    place = folder / f"dbos{journal}.db"
    command = [sys.executable, "-c", DBOS, str(place), str(seconds), journal]
    told = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    )
    assert told["synchronous"] == 2, told
    name = f"dbos ({told['journal_mode']})"
    return {name: told["1"], f"{name}, {IN_FLIGHT} in flight": told["32"]}


# -- waking ------------------------------------------------------------------------------------------


def park(store: Store, id: str, seconds: int) -> None:
    """An instance that sleeps so long, with no context."""

    def life(unit: Any) -> None:
        for make in (
            lambda now: Create(now, id, b"{}"),
            lambda now: Claim(now, 1, "v1", now + 30_000),
            lambda now: BeginStep(now, 1, "sleep", "s", {"seconds": seconds}),
            lambda now: Park(now, 1),
            lambda now: StopAck(now, 1),
        ):
            unit.perform((UID, id), make)

    store.transact(life)


COPIES = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {wanted})
INSERT INTO instances (id, {names}) SELECT 'parked ' || i, {names} FROM instances, n WHERE id = 'parked'
"""
STEPS_OF_COPIES = """
INSERT INTO steps (instance, {names})
SELECT i.number, {of} FROM instances i, steps
WHERE steps.instance = (SELECT number FROM instances WHERE id = 'parked') AND i.id LIKE 'parked %'
"""


def crowd(store: Store, wanted: int) -> None:
    """So many parked instances: one, and its copies as rows."""
    park(store, "parked", 3_000_000)
    for words, table, own in (
        (COPIES, sql.instances, ("number", "id")),
        (STEPS_OF_COPIES, sql.steps, ("instance",)),
    ):
        copied = [f'"{each.name}"' for each in table.columns if each.name not in own]
        names, of = ", ".join(copied), ", ".join(f"{table.name}.{each}" for each in copied)
        store.run(text(words.format(wanted=wanted - 1, names=names, of=of)))


class Woken:
    """A launcher of nothing, which notes when each instance was claimed."""

    session = 0

    def __init__(self) -> None:
        self.at: dict[str, int] = {}

    def close(self) -> None:
        """Nothing runs."""

    def launch(self, listener: Any, key: Any, token: int, instance: Any, code: Code) -> Any:
        """Note the instant."""
        self.at[instance.id] = time.time_ns()
        return _Port(listener, key, token)


def wakes(folder: Path, parked: int) -> tuple[float, float]:
    """The median and the 99th percentile of how late instances are claimed after their sleep (ms)."""
    store, woken = durable(Store(folder / f"parked-{parked}.db")), Woken()
    crowd(store, parked)
    for number in range(WAKES):
        park(store, f"w{number}", 1 + number // 30)
    due = {id: store.slot((UID, id)).history["s"].deadline for id in (f"w{n}" for n in range(WAKES))}
    with working(store, woken):
        while len(woken.at) < WAKES:
            time.sleep(0.01)
    store.close()
    late = sorted(at / 1e6 - due[id] for id, at in woken.at.items())
    return statistics.median(late), late[round(0.99 * (len(late) - 1))]


# -- all of it ---------------------------------------------------------------------------------------


def measured(folder: Path, rounds: int, seconds: float) -> dict[str, list[float]]:
    """Every contestant in every round, in turn."""
    contestants: list[Callable[[Path, float], Figures]] = [
        commits,
        transitions,
        lambda folder, seconds: workers(
            "worker", lambda module: Forks(Export(Module(path=str(module)), "Work")), folder, seconds
        ),
        lambda folder, seconds: workers("trusted", Threads, folder, seconds),
        dbos,
        lambda folder, seconds: dbos(folder, seconds, "wal"),
    ]
    found: dict[str, list[float]] = {}
    for number in range(rounds):
        here = folder / str(number)
        here.mkdir()
        for contestant in contestants:
            for name, figure in contestant(here, seconds).items():
                found.setdefault(name, []).append(figure)
    return found


def ratio(figures: dict[str, list[float]], name: str, to: str) -> str:
    """The median of the ratios of each round."""
    if to not in figures:
        return ""
    return f"{statistics.median(a / b for a, b in zip(figures[name], figures[to], strict=True)):.2f}"


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    given = parser.parse_args()
    logging.disable()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        figures = measured(Path(name), given.rounds, given.seconds)
        print(f"{'workflows a second, medians':<40}{'':>9}{'x commits':>12}{'x dbos':>9}{'x dbos wal':>12}")
        for what, found in figures.items():
            many = f", {IN_FLIGHT} in flight" if what.endswith("in flight") else ""
            to = [ratio(figures, what, f"dbos ({journal}){many}") for journal in ("delete", "wal")]
            shown = f"{statistics.median(found):>9.1f}{ratio(figures, what, 'commits'):>12}"
            print(f"{what:<40}{shown}{to[0]:>9}{to[1]:>12}")
        if importlib.util.find_spec("dbos") is None:
            print("dbos is not installed: pip install dbos")
        for parked in PARKED:
            median, worst = wakes(Path(name), parked)
            print(f"woken with {parked:,} parked: {median:.1f} ms late in the median, {worst:.1f} ms at p99")


if __name__ == "__main__":
    main()
