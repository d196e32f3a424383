"""`fencepost worker` as a user has it: what it says when something is wrong, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fencepost.durable import processes
from fencepost.durable import statements as sql
from fencepost.durable.host import DurableHost
from sqlalchemy import select

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "examples" / "report.py"
SCRIPTED = ROOT / "examples" / "report.mjs"
SCRIPT = "from fencepost_conformance.cli import main; main()"


def begin(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, "worker", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("module", "name", "more", "said"),
    [
        ("none.py", "A", (), "none.py: there is no such file"),
        (str(REPORT), "A", (), f"{REPORT}: the module has no workflow class A; it has ReportWorkflow"),
        (str(REPORT), "ReportWorkflow", ("--env", "A"), "--env A: give it as KEY=VALUE"),
    ],
)
def test_what_is_wrong_is_said_on_one_line(
    tmp_path: Path, module: str, name: str, more: tuple[str, ...], said: str
) -> None:
    worker = begin("--db", str(tmp_path / "a.db"), "--module", module, "--class", name, *more)
    out, errors = worker.communicate(timeout=30)
    assert worker.returncode == 2
    assert (out, errors) == ("", f"fencepost: {said}\n")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("mysql://h/d", "--db: mysql: a store is a file of SQLite"),
        (
            f"{os.sep}none{os.sep}a.db",
            "--db: the database cannot be used: unable to open database file",
        ),
    ],
)
def test_a_database_that_is_none_is_said_on_one_line(place: str, said: str) -> None:
    worker = begin("--db", place, "--module", str(REPORT), "--class", "ReportWorkflow")
    _, errors = worker.communicate(timeout=30)
    assert worker.returncode == 2
    assert errors.startswith(f"fencepost: {said}")
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("module", "number", "status"),
    [(REPORT, signal.SIGTERM, 0), (REPORT, signal.SIGINT, 130), (SCRIPTED, signal.SIGTERM, 0)],
)
def test_a_signal_ends_it_and_leaves_nothing_running(
    tmp_path: Path, module: Path, number: signal.Signals, status: int
) -> None:
    database = tmp_path / "a.db"
    host = DurableHost(database)
    worker = begin(
        "--db", str(database), "--module", str(module), "--class", "ReportWorkflow", "--env", "REGION=n"
    )
    assert worker.stdout is not None
    assert worker.stdout.readline().startswith(f"ReportWorkflow of {module} runs what is in ")
    report = host.start({"name": "sales"})
    while report.status()["status"] != "sleeping":
        assert worker.poll() is None
    (session,) = [row.session for row in host.store.rows(select(sql.workers))]
    assert processes.members(session) != []
    worker.send_signal(number)
    _, errors = worker.communicate(timeout=30)
    assert (worker.returncode, errors) == (status, "")
    assert processes.members(session) == []
    host.close()
