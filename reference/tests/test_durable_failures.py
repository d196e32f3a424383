"""A database that fails: callers are told, one line is logged, and once it is back nothing is lost."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fencepost.contexts.forkserver import Export, Module
from fencepost.durable.host import DurableHost
from fencepost.durable.store import Store, StoreUnavailable, _Work
from fencepost.durable.worker import Worker
from fencepost.host.calls import CallError
from fencepost.host.launching import Code, Forks
from fencepost.machine.actions import Create, SendEvent
from fencepost.machine.state import Instance
from harms import HARMS, POSTGRES, Database, full, lost, read_only, unheard
from waiting import until

DEADLINE = 20.0
BIG = {"x": "x" * 60_000}
"""More than what is left on a page."""


@pytest.fixture(params=HARMS, ids=lambda made: made.__name__)
def database(
    request: pytest.FixtureRequest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> Iterator[Database]:
    made: Database = request.param(tmp_path)
    caplog.set_level(logging.WARNING)
    yield made
    made.store.close()
    for end in made.ends:
        end()


@pytest.fixture
def uid() -> str:
    """A Workflow that no other test has."""
    return f"failing-{os.getpid()}-{time.monotonic_ns()}"


def refused(call: Callable[[], object], why: str = "") -> None:
    """The call is rejected as BND-8 wants it, and says why in one line."""
    with pytest.raises(CallError) as caught:
        call()
    assert caught.value.name == "backend_unavailable"
    assert re.search(why, str(caught.value))
    assert "\n" not in str(caught.value)


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the store has said, by its levels."""
    return [record.levelname for record in caplog.records if record.name == "fencepost.store"]


def test_every_call_that_cannot_be_kept_is_refused_and_nothing_that_was_answered_is_lost(
    database: Database, uid: str, caplog: pytest.LogCaptureFixture
) -> None:
    host = DurableHost(database.store, uid)
    before = host.start(id="before")
    before.send_event("go", {"n": 1})
    with database.harmed():
        for _ in range(3):
            refused(lambda: host.start(BIG, id="meanwhile"), database.why)
            refused(lambda: before.send_event("go", BIG), database.why)
            refused(lambda: host.start(BIG, id="commanded", command="c"), database.why)
            if database.reads:
                assert before.status() == {"status": "queued"}
            else:
                refused(before.status, database.why)
                refused(lambda: host.handle("before"), database.why)
        assert logged(caplog) == ["ERROR"]
        assert re.search(f"the database cannot be used: .*{database.why}", caplog.text)
    host.start(BIG, id="meanwhile")
    host.start(BIG, id="commanded", command="c")
    before.send_event("go", {"n": 2})
    assert logged(caplog) == ["ERROR", "WARNING"]
    assert "the database answers again" in caplog.text
    other = Store(database.place)
    held = other.slot((uid, "before"))
    assert isinstance(held, Instance)
    assert [each.payload for each in held.inbox] == [b'{"n":1}', b'{"n":2}']
    assert all(isinstance(other.slot((uid, id)), Instance) for id in ("meanwhile", "commanded"))
    other.close()


def test_a_terminate_that_cannot_be_kept_is_refused(database: Database, uid: str) -> None:
    host = DurableHost(database.store, uid)
    handle = host.start(id="i")
    with database.harmed():
        if database.why == "full":  # what a page has room for can still be kept
            handle.terminate(1)
            return
        refused(handle.terminate, database.why)
    assert handle.status() == {"status": "queued"}
    handle.terminate(1)
    assert handle.status() == {"status": "terminated"}


@pytest.mark.parametrize(
    "database", [full, read_only, pytest.param(lost, marks=pytest.mark.postgresql)], indirect=True
)
def test_a_failure_inside_of_a_transaction_leaves_none_of_it(database: Database, uid: str) -> None:
    key, began = (uid, "i"), threading.Event()

    def halves(unit: Any) -> None:
        unit.perform(key, lambda now: Create(now, "i", b"{}"))
        if not began.is_set():
            began.set()
            database.begin()
        for _ in range(80):
            unit.perform(key, lambda now: SendEvent(now, "go", b'"' + b"x" * 900 + b'"', 9))

    with pytest.raises(StoreUnavailable):
        database.store.transact(halves)
    database.end()
    assert not isinstance(database.store.slot(key), Instance)
    database.store.transact(halves)
    held = database.store.slot(key)
    assert isinstance(held, Instance)
    assert held.accepted == 80


def test_a_group_that_fails_is_refused_to_each_of_its_callers(
    database: Database, uid: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What was answered is kept, what was refused can be sent again, and nobody waits for ever."""
    host = DurableHost(database.store, uid)
    host.start(id="first")
    inside, outside = threading.Event(), threading.Event()
    ends: dict[str, str] = {}

    def first(unit: Any) -> None:
        unit.load((uid, "first"))
        inside.set()
        assert outside.wait(DEADLINE)

    def lead() -> None:
        with contextlib.suppress(StoreUnavailable):
            database.store.transact(first, writes=False)

    def create(id: str) -> None:
        try:
            DurableHost(database.store, uid).start(BIG, id=id)
            ends[id] = "answered"
        except CallError as error:
            ends[id] = error.name

    leading = threading.Thread(target=lead, daemon=True)
    callers = [threading.Thread(target=create, args=(f"i{n}",), daemon=True) for n in range(8)]
    leading.start()
    assert inside.wait(DEADLINE)
    for caller in callers:
        caller.start()
    until(lambda: len(database.store._gathered) == 8)
    with database.harmed():
        outside.set()
        for caller in (leading, *callers):
            caller.join(DEADLINE)
        assert ends == {f"i{n}": "backend_unavailable" for n in range(8)}
        assert logged(caplog) == ["ERROR"]
    for n in range(8):
        create(f"i{n}")
    assert ends == {f"i{n}": "answered" for n in range(8)}
    other = Store(database.place)
    assert all(isinstance(other.slot((uid, f"i{n}")), Instance) for n in range(8))
    other.close()


def test_one_that_is_interrupted_while_it_waits_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "fencepost.db")
    inside, outside = threading.Event(), threading.Event()

    def first(unit: Any) -> None:
        inside.set()
        assert outside.wait(DEADLINE)

    class Interrupted:
        """A turn that is interrupted when it comes."""

        def acquire(self) -> None:
            until(lambda: released)
            raise KeyboardInterrupt

        def release(self) -> None:
            released.append(True)

    released: list[bool] = []
    work = _Work(lambda unit: None, True)
    work.turn = Interrupted()  # type: ignore[assignment]
    leading = threading.Thread(target=store.transact, args=(first,), daemon=True)
    leading.start()
    assert inside.wait(DEADLINE)
    store._gathered.append(work)
    waiting = threading.Thread(target=create_in, args=(store, "behind"), daemon=True)
    waiting.start()
    until(lambda: len(store._gathered) == 2)
    outside.set()
    with pytest.raises(KeyboardInterrupt):
        store._wait(work)
    for thread in (leading, waiting):
        thread.join(DEADLINE)
    assert isinstance(store.slot(("w", "behind")), Instance)
    store.close()


def create_in(store: Store, id: str) -> None:
    store.perform(("w", id), lambda now: Create(now, id, b"{}"))


# -- workers -----------------------------------------------------------------------------------------

MODULE = """
import time
from pathlib import Path

class Program:
    def __init__(self, env):
        self.folder = Path(env["FOLDER"])

    async def run(self, event, step):
        path = self.folder / event.instance_id

        def first():
            with path.open("a") as file:
                file.write("first\\n")
            while not (self.folder / "free").exists():
                time.sleep(0.01)
            return {"text": "x" * 60_000}

        def second():
            with path.open("a") as file:
                file.write("second\\n")

        await step.do("first", first)
        await step.do("second", second)
        return {"did": True}
"""

PROGRAM = """
import logging, sys
from fencepost.contexts.forkserver import Export, Module
from fencepost.durable.store import Store
from fencepost.durable.worker import Worker
from fencepost.host.launching import Code, Forks

logging.basicConfig(level=logging.WARNING)
place, module, folder, uid = sys.argv[1:]
forks = Forks(Export(Module(path=module), "Program"))
Worker(Store(place), forks, Code("Program", {"FOLDER": folder}), uid=uid).run()
"""


def attempts(store: Store) -> list[int]:
    """A list that grows with every transaction that is tried from now on."""
    tried: list[int] = []
    once = store._once
    store._once = lambda batch: (tried.append(len(batch)), once(batch))[1]  # type: ignore[method-assign,func-returns-value]
    return tried


def test_a_worker_waits_for_its_database_and_does_nothing_twice(
    database: Database, uid: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "program.py").write_text(MODULE)
    forks = Forks(Export(Module(path=str(tmp_path / "program.py")), "Program"))
    worker = Worker(database.store, forks, Code("Program", {"FOLDER": str(tmp_path)}), uid=uid)
    caller = DurableHost(Store(database.place), uid)
    thread = threading.Thread(target=worker.run, daemon=True)
    thread.start()
    try:
        handle = caller.start()
        until(lambda: (tmp_path / handle.id).exists())
        with database.harmed():
            (tmp_path / "free").touch()
            until(lambda: "the database cannot be used" in caplog.text)
            tries = attempts(database.store)
            until(lambda: len(tries) >= 3)
            assert handle.status() == {"status": "running"}
            assert (tmp_path / handle.id).read_text().split() == ["first"]
        assert handle.wait(DEADLINE) == {"status": "complete", "output": {"did": True}}
        assert (tmp_path / handle.id).read_text().split() == ["first", "second"]
        assert logged(caplog) == ["ERROR", "WARNING"]
    finally:
        worker.close()
        thread.join(DEADLINE)
        caller.close()


UNHEARD = """
class Program:
    def __init__(self, env):
        pass

    async def run(self, event, step):
        await step.wait_for_event("go", type="go", timeout_seconds=3600)
        await step.sleep("rest", 1)
        return await step.do("last", lambda: {"id": event.instance_id})
"""


@pytest.mark.postgresql
@pytest.mark.parametrize(
    "action", ["Claim", "BeginStep", "Park", "Wake", "CommitAttempt", "Settle", "StopAck"]
)
def test_a_commit_whose_answer_is_lost_is_neither_undone_nor_done_twice(
    action: str, uid: str, tmp_path: Path
) -> None:
    """No lease has to run out for it either: that would take longer than this waits."""
    (tmp_path / "program.py").write_text(UNHEARD)
    forks = Forks(Export(Module(path=str(tmp_path / "program.py")), "Program"))
    worker = Worker(Store(POSTGRES), forks, Code("Program", {}), uid=uid)
    caller = DurableHost(Store(POSTGRES), uid)
    thread = threading.Thread(target=worker.run, daemon=True)
    with unheard(worker.store, action) as acted:
        thread.start()
        try:
            handle = caller.start(id="i")
            handle.send_event("go")
            assert handle.wait(DEADLINE) == {"status": "complete", "output": {"id": "i"}}
        finally:
            worker.close()
            thread.join(DEADLINE)
            caller.close()
            worker.store.close()
    assert action in acted


def test_a_context_is_not_said_to_have_stopped_while_it_is_being_stopped(uid: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(MODULE)
    forks = Forks(Export(Module(path=str(tmp_path / "program.py")), "Program"))
    store = Store(tmp_path / "fencepost.db")
    worker = Worker(store, forks, Code("Program", {"FOLDER": str(tmp_path)}), uid=uid)
    held: list[Any] = []

    class Watched:
        """A context during whose stop the worker lets go of what it holds and does not run."""

        pid = None

        def stop(self) -> None:
            worker._let_go()
            held.append(worker._held_by(worker.name))
            running.stop()

        def join(self) -> None:
            running.join()

    thread = threading.Thread(target=worker.run, daemon=True)
    thread.start()
    try:
        handle = DurableHost(store, uid).start()
        until(lambda: (tmp_path / handle.id).exists())
        ((context, running),) = worker._running.items()
        worker._running[context] = Watched()
        handle.terminate(DEADLINE)
        assert held == [[context]]
        assert handle.status() == {"status": "terminated"}
    finally:
        worker.close()
        thread.join(DEADLINE)
        store.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process that runs already")
def test_a_worker_whose_files_cannot_grow_waits_and_says_so_once(tmp_path: Path) -> None:
    """The write of a commit itself fails, in another process, as on a disk that is full."""
    (tmp_path / "program.py").write_text(MODULE)
    place = tmp_path / "fencepost.db"
    host = DurableHost(place)
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        str(place),
        str(tmp_path / "program.py"),
        str(tmp_path),
        host.uid,
    ]
    worker = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    said: list[str] = []
    assert worker.stderr is not None
    reader = threading.Thread(target=lambda: said.extend(iter(worker.stderr.readline, "")))  # type: ignore[union-attr]
    reader.start()
    try:
        handle = host.start()
        until(lambda: (tmp_path / handle.id).exists())
        soft, hard = resource.prlimit(worker.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (0, hard))
        (tmp_path / "free").touch()
        until(lambda: said)
        assert handle.status() == {"status": "running"}
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (soft, hard))
        assert handle.wait(DEADLINE)["output"] == {"did": True}
        assert (tmp_path / handle.id).read_text().split() == ["first", "second"]
    finally:
        worker.send_signal(signal.SIGKILL)
        worker.wait(DEADLINE)
        reader.join(DEADLINE)
        worker.stderr.close()
        host.close()
    about = [line for line in said if "fencepost.store" in line]
    assert [line.partition(":")[0] for line in about] == ["ERROR", "WARNING"]
