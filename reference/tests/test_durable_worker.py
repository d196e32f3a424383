"""Workers over a store: real processes, real kills, and nothing that was committed is lost or done again."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fencepost.contexts.forkserver import Export, Module
from fencepost.durable import processes
from fencepost.durable import statements as sql
from fencepost.durable.host import DurableHost, Handle
from fencepost.durable.store import Store, StoreUnavailable
from fencepost.durable.worker import Worker
from fencepost.host.launching import Code, Forks
from fencepost.machine.actions import Claim, CommitAttempt
from fencepost.machine.replies import Fenced
from fencepost.machine.state import Instance
from sqlalchemy import select
from waiting import until

UID = "workflow-1"
DEADLINE = 20.0

MODULE = """
import os, time
from pathlib import Path
from fencepost.workflow import deferred

class Program:
    def __init__(self, env):
        self.folder = Path(env["FOLDER"])

    def log(self, word):
        with (self.folder / self.id).open("a") as file:
            file.write(f"{word}\\n")

    async def run(self, event, step):
        self.id = event.instance_id
        return await getattr(self, event.params["do"])(step, event.params)

    async def steps(self, step, params):
        for n in range(params.get("steps", 3)):
            await step.do(f"s{n}", lambda: self.log(f"s{n}"))
        return {"steps": n + 1}

    async def parks(self, step, params):
        await step.sleep("s", 1)
        return await step.wait_for_event("w", type="go", timeout_seconds=60)

    async def blocks(self, step, params):
        def effect():
            self.log("begun")
            while not (self.folder / "free").exists():
                time.sleep(0.01)
        await step.do("blocked", effect)
        return {"did": True}

    async def dies(self, step, params):
        def effect():
            self.log("begun")
            if (self.folder / self.id).read_text().count("begun") < 3:
                os._exit(1)
        await step.do("fragile", effect)

    async def hangs(self, step, params):
        awaited, _, _ = deferred()
        await awaited
"""

PROGRAM = """
import logging, signal, sys
from fencepost.contexts.forkserver import Export, Module
from fencepost.durable.store import Store
from fencepost.durable.worker import Worker
from fencepost.host.launching import Code, Forks

logging.basicConfig(level=logging.INFO)
place, module, folder = sys.argv[1:]
worker = Worker(
    Store(place), Forks(Export(Module(path=module), "Program")), Code("Program", {"FOLDER": folder}),
    uid="workflow-1",
)
signal.signal(signal.SIGTERM, lambda *_: worker.close())
print("ready", flush=True)
worker.run()
"""


class Place:
    """A database, a module and a folder, and the workers on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "fencepost.db"
        self.module = folder / "program.py"
        self.module.write_text(MODULE)
        self.host = DurableHost(self.database)
        self.workers: list[subprocess.Popen[str]] = []

    def worker(self) -> subprocess.Popen[str]:
        """Another worker, ready."""
        command = [sys.executable, "-c", PROGRAM, str(self.database), str(self.module), str(self.folder)]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.workers.append(worker)
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        return worker

    def start(self, do: str, **params: Any) -> Handle:
        return self.host.start({"do": do, **params})

    def words(self, handle: Handle) -> list[str]:
        path = self.folder / handle.id
        return path.read_text().split() if path.exists() else []

    def sessions(self) -> list[int]:
        """The sessions of all workers that are known."""
        return [row.session for row in self.host.store.rows(select(sql.workers))]

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.communicate()
        self.host.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.close()


@pytest.fixture
def worker(place: Place) -> Iterator[Worker]:
    """A worker in this process, on a thread."""
    forks = Forks(Export(Module(path=str(place.module)), "Program"))
    store = Store(place.database)
    made = Worker(store, forks, Code("Program", {"FOLDER": str(place.folder)}), uid=UID)
    thread = threading.Thread(target=made.run)
    thread.start()
    yield made
    made.close()
    thread.join(DEADLINE)
    store.close()


@pytest.mark.usefixtures("worker")
def test_it_runs_what_callers_create(place: Place) -> None:
    handle = place.start("steps")
    assert handle.wait(DEADLINE) == {"status": "complete", "output": {"steps": 3}}
    assert place.words(handle) == ["s0", "s1", "s2"]


@pytest.mark.usefixtures("worker")
def test_an_end_is_decided_and_published_in_one_commit(place: Place) -> None:
    handle = place.start("steps")
    handle.wait(DEADLINE)
    (row,) = place.host.store.rows(select(sql.instances))
    assert row.outcome_at == row.terminal_at  # the instant of their transaction


@pytest.mark.usefixtures("worker")
def test_what_is_parked_has_no_context_and_wakes(place: Place) -> None:
    handle = place.start("parks")
    until(lambda: handle.status()["status"] == "sleeping")
    assert place.host.store.rows(select(sql.contexts)) == []
    until(lambda: handle.status()["status"] == "waiting")
    handle.send_event("go", {"by": "ann"})
    assert handle.wait(DEADLINE)["output"] == {"by": "ann"}


@pytest.mark.usefixtures("worker")
def test_terminate_ends_when_the_context_is_gone(place: Place) -> None:
    handle = place.start("blocks")
    until(lambda: place.words(handle))
    (session,) = place.sessions()
    assert len(processes.members(session)) == 2
    handle.terminate(DEADLINE)
    assert len(processes.members(session)) == 1
    assert handle.status() == {"status": "terminated"}


@pytest.mark.usefixtures("worker")
def test_a_context_that_ends_by_itself_is_delivered_again(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    handle = place.start("dies")
    assert handle.wait(DEADLINE)["status"] == "complete"
    assert place.words(handle) == ["begun"] * 3
    told = place.host.history(handle.id).entries
    assert [(each.kind, each.owner, each.attempt) for each in told if each.kind != "lease"] == [
        ("delivery", 1, 1),
        ("loss", 1, 0),
        ("delivery", 2, 1),
        ("loss", 2, 0),
        ("delivery", 3, 1),
        ("attempt", 3, 1),
        ("end", 0, 0),
    ]  # GRT-7
    assert [record.message.partition(": ")[2] for record in caplog.records] == [
        f"its context {token} has ended by itself" for token in (1, 2)
    ]


@pytest.mark.usefixtures("worker")
def test_a_run_that_hangs_is_told_of_and_can_be_terminated(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    handle = place.start("hangs")
    until(lambda: "awaits what nobody will settle" in caplog.text)
    handle.terminate(DEADLINE)


def test_a_late_report_is_refused_and_logged_as_such(
    place: Place, worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    handle = place.start("blocks")
    until(lambda: place.words(handle))
    key = (UID, handle.id)
    place.host.store.move_clock(31_000)  # nobody has renewed in that time
    until(lambda: len(place.words(handle)) == 2)
    reply = worker.report(key, 1, lambda now: CommitAttempt(now, 1, b"{}"))
    assert isinstance(reply, Fenced)
    assert "a late report of owner 1 is refused: CommitAttempt" in caplog.text
    assert "the lease of its owner has run out; it is delivered again" in caplog.text
    late = [each for each in place.host.history(handle.id).entries if each.kind == "late"]
    assert [(each.owner, each.outcome) for each in late] == [(1, "result")]
    (place.folder / "free").touch()
    assert handle.wait(DEADLINE)["output"] == {"did": True}


def test_a_store_that_goes_away_is_waited_for(
    place: Place, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = place.start("blocks")
    until(lambda: place.words(handle))

    def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("the database cannot be used: it is away")

    with monkeypatch.context() as patch:
        patch.setattr(worker.store, "transact", away)
        (place.folder / "free").touch()
        time.sleep(0.3)
        assert handle.status() == {"status": "running"}
    assert handle.wait(DEADLINE)["output"] == {"did": True}
    assert place.words(handle) == ["begun"]


def test_without_a_store_for_a_lease_nothing_runs_on(
    place: Place, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = place.start("blocks")
    until(lambda: place.words(handle))
    (session,) = place.sessions()

    def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("the database cannot be used: it is away")

    with monkeypatch.context() as patch:
        patch.setattr(worker.store, "transact", away)
        patch.setattr(worker, "_renewed", -1e9)
        until(lambda: len(processes.members(session)) == 1)
    (place.folder / "free").touch()
    assert handle.wait(DEADLINE)["output"] == {"did": True}
    assert place.words(handle) == ["begun"] * 2


def test_a_worker_without_room_still_ends_what_is_over(place: Place, worker: Worker) -> None:
    worker._most_contexts = 1
    first, second = place.start("blocks"), place.start("blocks")
    until(lambda: place.words(first) or place.words(second))
    place.host.store.move_clock(31_536_000_000)
    for handle in (first, second):
        assert handle.wait(DEADLINE)["error"] == {"reason": "lifetime_exceeded"}
    assert len(place.words(first) + place.words(second)) == 1


def test_a_killed_worker_leaves_its_work_to_the_next(place: Place) -> None:
    first = place.worker()
    handle = place.start("blocks")
    until(lambda: place.words(handle))
    (session,) = place.sessions()
    first.kill()
    first.wait()
    place.worker()
    until(lambda: len(place.words(handle)) == 2)
    assert processes.members(session) == []
    (place.folder / "free").touch()
    assert handle.wait(DEADLINE)["output"] == {"did": True}
    slot = place.host.store.slot((UID, handle.id))
    assert isinstance(slot, Instance)
    assert slot.token == 2


def test_a_frozen_worker_is_ended_by_another_once_it_is_silent_for_long(place: Place) -> None:
    first = place.worker()
    handle = place.start("blocks")
    until(lambda: place.words(handle))
    first.send_signal(signal.SIGSTOP)
    place.worker()
    place.host.store.move_clock(90_000)
    until(lambda: len(place.words(handle)) == 2)
    until(lambda: len(place.sessions()) == 1)
    first.send_signal(signal.SIGCONT)
    (place.folder / "free").touch()
    assert handle.wait(DEADLINE)["output"] == {"did": True}
    first.wait(DEADLINE)


def test_what_a_worker_claims_after_it_was_given_up_is_recovered_too(place: Place) -> None:
    handle = place.start("steps")
    key = (UID, handle.id)
    place.host.store.perform(key, lambda now: Claim(now, 1, "v1", now + 30_000), "frozen, then killed")
    place.worker()
    assert handle.wait(DEADLINE)["output"] == {"steps": 3}
    assert place.host.store.rows(select(sql.contexts)) == []


def test_a_worker_that_is_ended_leaves_nothing_running(place: Place) -> None:
    first = place.worker()
    handle = place.start("blocks")
    until(lambda: place.words(handle))
    (session,) = place.sessions()
    first.send_signal(signal.SIGTERM)
    assert first.wait(DEADLINE) == 0
    assert processes.members(session) == []
    assert place.sessions() == []
    slot = place.host.store.slot((UID, handle.id))
    assert isinstance(slot, Instance)
    assert slot.contexts == ()


def test_kills_lose_nothing_and_repeat_only_what_was_under_way(place: Place) -> None:
    handles = [place.start("steps", steps=12) for _ in range(6)]
    for kill in range(1, 5):
        worker = place.worker()
        until(lambda kill=kill: sum(len(place.words(handle)) for handle in handles) >= 12 * kill)  # type: ignore[misc]
        worker.kill()
        worker.wait()
    place.worker()
    for handle in handles:
        assert handle.wait(DEADLINE)["output"] == {"steps": 12}
    for handle in handles:
        kinds = Counter((each.kind, each.step) for each in place.host.history(handle.id).entries)
        assert [kinds["attempt", f"s{n}"] for n in range(12)] == [1] * 12
        words = Counter(place.words(handle))
        assert set(words) == {f"s{n}" for n in range(12)}
        assert all(count <= kinds["delivery", step] for step, count in words.items())


def test_a_process_is_known_by_its_beginning() -> None:
    assert processes.began(os.getpid()) != ""
    assert processes.began(2**22 + 1) == ""
    assert processes.members(os.getsid(0)) != []


def test_a_session_that_has_the_id_of_another_one_is_left_alone() -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True
    )
    try:
        since = until(lambda: os.getsid(program.pid) == program.pid and processes.began(program.pid))
        assert processes.end_session(program.pid, "1")  # nothing of the one that began then is left
        assert processes.members(program.pid, since) == [program.pid]
        assert processes.end_session(program.pid, since)
        assert program.wait(20) == -signal.SIGKILL
    finally:
        program.kill()
        program.communicate()


@pytest.fixture(autouse=True)
def loud(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
