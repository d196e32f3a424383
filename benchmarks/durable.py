"""Completed workflows a second on the durable store, three `do` steps each, beside bare commits of SQLite.

Run ``python benchmarks/durable.py [FOLDER]``; the figures are those of FOLDER's disk. Three ways:

- *store*: every transition of the machine in a transaction of its own (ten a workflow), by one caller and by
  sixteen at once, whose commits gather;
- *worker*: one `fencepost worker` with a process for each context, callers in another process;
- *bare*: as many commits of SQLite (WAL, synchronous=FULL), each of one small insert and nothing else.

Where the package `dbos` is installed, the same three steps under it.
"""

import importlib.util
import logging
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fencepost.durable.host import DurableHost
from fencepost.durable.store import Store
from fencepost.machine.actions import BeginStep, Claim, CommitAttempt, Create, Settle, StopAck

SECONDS = 5.0
STEPS = 3
TRANSITIONS = 4 + 2 * STEPS
MODULE = f"""
class Work:
    def __init__(self, env):
        pass

    async def run(self, event, step):
        for n in range({STEPS}):
            await step.do(f"step {{n}}", lambda: {{"n": n}})
        return {{}}
"""
SCRIPT = "from fencepost_conformance.cli import main; main()"
DBOS = """
import sys, time
from dbos import DBOS, DBOSConfig

DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{sys.argv[1]}", "log_level": "ERROR"})

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
began, done = time.perf_counter(), 0
while time.perf_counter() < began + 5.0:
    work()
    done += 1
print(done / (time.perf_counter() - began))
DBOS.destroy()
"""


def rate(work: Callable[[int], None], callers: int = 1) -> float:
    """How often a second `work` gets done by so many threads."""
    done = [0] * callers
    began = time.perf_counter()

    def call(number: int) -> None:
        while time.perf_counter() < began + SECONDS:
            work(number * 1_000_000 + done[number])
            done[number] += 1

    threads = [threading.Thread(target=call, args=(number,)) for number in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (time.perf_counter() - began)


def bare(folder: Path) -> float:
    """Workflows a second if a transition were nothing but its commit."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, document BLOB)")

    def work(number: int) -> None:
        for _ in range(TRANSITIONS):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO t (document) VALUES (?)", (b'{"n":1}',))
            connection.execute("COMMIT")

    return _on_one_thread(work)


def _on_one_thread(work: Callable[[int], None]) -> float:
    began, done = time.perf_counter(), 0
    while time.perf_counter() < began + SECONDS:
        work(done)
        done += 1
    return done / (time.perf_counter() - began)


def life(store: Store, number: int) -> None:
    """One workflow from its creation to its end, as transitions."""
    id = f"instance {number}"

    def perform(make: Callable[[int], Any]) -> None:
        store.perform(("workflow-1", id), make)

    perform(lambda now: Create(now, id, b"{}"))
    perform(lambda now: Claim(now, 1, "v1", now + 30_000))
    for step in range(STEPS):
        perform(lambda now, step=step: BeginStep(now, 1, "do", f"step {step}", {"effect": True}))  # type: ignore[misc]
        perform(lambda now: CommitAttempt(now, 1, b'{"n":1}'))
    perform(lambda now: Settle(now, 1, b"{}"))
    perform(lambda now: StopAck(now, 1))


def worker(folder: Path) -> float:
    """Workflows a second through a worker process, with a process for each context."""
    database, module = folder / "worker.db", folder / "work.py"
    module.write_text(MODULE)
    host = DurableHost(database)
    arguments = ["worker", "--db", str(database), "--module", str(module), "--class", "Work"]
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, *arguments], stdout=subprocess.PIPE)
    try:
        host.start().wait(30)
        began, handles = time.perf_counter(), []
        while time.perf_counter() < began + SECONDS:
            handles += [host.start() for _ in range(8)]
            for handle in handles[-8:]:
                handle.wait(30)
        return len(handles) / (time.perf_counter() - began)
    finally:
        process.terminate()
        process.wait()
        host.close()


def dbos(folder: Path) -> float | None:
    """Workflows a second under DBOS, on a file of SQLite too; None where it is not installed."""
    if importlib.util.find_spec("dbos") is None:
        return None
    command = [sys.executable, "-c", DBOS, str(folder / "dbos.db")]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])


def main() -> None:
    """Print every figure."""
    logging.disable()
    parent = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=parent) as name:
        folder = Path(name)
        store = Store(folder / "store.db")
        figures: dict[str, float | None] = {
            "bare commits": bare(folder),
            "store, one caller": rate(lambda number: life(store, number)),
            "store, sixteen callers": rate(lambda number: life(store, 1 + number), 16),
            "worker": worker(folder),
            "dbos": dbos(folder),
        }
        store.close()
    for what, figure in figures.items():
        shown = "not installed" if figure is None else f"{figure:8.0f} workflows a second"
        print(f"{what:<24}{shown}")


if __name__ == "__main__":
    main()
