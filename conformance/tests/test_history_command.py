"""`fencepost history`, `create`, `send` and `terminate` on a database that no worker works on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fencepost.durable import statements as sql
from fencepost.durable.host import DurableHost
from fencepost.machine.actions import BeginStep, Claim, CommitAttempt, Expire, SendEvent
from fencepost_conformance.cli import application
from fencepost_spec.schemas import problems
from sqlalchemy import text

Run = Callable[..., Result]


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "report.db")
        return
    if not os.environ.get("FENCEPOST_POSTGRES"):
        pytest.skip("FENCEPOST_POSTGRES names no database")
    yield os.environ["FENCEPOST_POSTGRES"]


@pytest.fixture
def uid(tmp_path: Path) -> str:
    return f"workflow-{tmp_path}"


@pytest.fixture
def run(place: str, uid: str) -> Run:
    def run(*arguments: str) -> Result:
        return CliRunner().invoke(application, [*arguments, "--db", place, "--resource", uid])

    return run


@pytest.fixture
def host(place: str, uid: str) -> Iterator[DurableHost]:
    opened = DurableHost(place, uid)
    yield opened
    opened.close()


def test_calls_under_a_command_id_are_harmless_to_repeat(run: Run, host: DurableHost) -> None:
    create = ("create", "--params", '{"name": "sales"}', "--command", "order-17")
    first = run(*create)
    assert first.exit_code == 0
    id = first.stdout.strip()
    assert run(*create).stdout.strip() == id
    other = run("create", "--command", "order-17")
    assert (other.exit_code, other.stdout) == (1, "")
    assert other.stderr.startswith("fencepost: command_conflict: the command id 'order-17' was used for")
    for _ in range(2):
        assert run("send", id, "go", "--payload", "{}", "--command", "e").exit_code == 0
    for _ in range(2):
        assert run("terminate", id, "--command", "t").exit_code == 0
    assert host.status(id) == {"status": "terminated"}
    shown = run("history", id)
    assert shown.exit_code == 0
    for line in ("order-17 create", "e sendEvent", "t terminate", "the run ended: terminated"):
        assert line in shown.stdout


def test_what_the_host_rejects_is_one_line(run: Run, host: DurableHost) -> None:
    host.create("i")
    for arguments, line in (
        (("create", "--id", "i"), "instance_exists: an instance is held under this id"),
        (("send", "j", "go"), "unknown_instance: no instance is held under this id"),
        (("terminate", "j"), "unknown_instance: no instance is held under this id"),
        (("history", "j"), "unknown_instance: no instance is held under this id"),
    ):
        result = run(*arguments)
        assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"fencepost: {line}\n")


@pytest.mark.parametrize("given", ["{", "[]", '{"a": 1, "a": 2}', "7"])
def test_documents_are_json_objects(run: Run, given: str) -> None:
    result = run("create", "--params", given)
    assert result.exit_code == 2
    assert result.stderr.startswith("fencepost: --params: ")
    assert result.stderr.count("\n") == 1


def test_a_terminate_that_is_not_proven_says_so(run: Run, host: DurableHost) -> None:
    host.create("i")
    host.store.perform((host.uid, "i"), lambda now: Claim(now, 1, "v1", now + 1000))
    result = run("terminate", "i", "--seconds", "0.05")
    assert result.exit_code == 1
    assert "is not proven stopped after 0.05 s" in result.stderr


def test_a_database_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    for command in (["history", "i"], ["send", "i", "go"], ["terminate", "i"]):
        result = CliRunner().invoke(application, [*command, "--db", str(path)])
        assert (result.exit_code, result.stderr) == (2, f"fencepost: --db: there is no database at {path}\n")
    assert not path.exists()


def repeated(host: DurableHost) -> None:
    """An attempt that was delivered twice, with a late report, and an event that nobody has consumed."""
    host.create("i")
    begun = host.history("i").instance.created_at
    do = ("do", "a b", {"effect": True})
    for action in (
        Claim(begun, 1, "v1", begun + 1000),
        BeginStep(begun + 1, 1, *do),
        Expire(begun + 1000),
        Claim(begun + 1000, 2, "v2", begun + 9000),
        BeginStep(begun + 1000, 2, *do),
        CommitAttempt(begun + 1001, 1, b"{}"),
        CommitAttempt(begun + 1002, 2, b"{}"),
        SendEvent(begun + 1003, "go", None, 13),
    ):
        host.store.perform((host.uid, "i"), lambda _, action=action: action)  # type: ignore[misc]


def test_the_two_questions_are_answered_apart(run: Run, host: DurableHost) -> None:
    repeated(host)
    shown = run("history", "i").stdout
    first = shown.index("Did an outside effect perhaps take place more than once?")
    second = shown.index("Was more than one outcome committed for one identity?")
    assert shown.index("Committed") < shown.index("Delivered") < first < second
    told = host.history("i")
    answer = f"perhaps: {told.attempt('a b', 1)} was delivered 2 times, its outcome: succeeded"
    assert shown[first:second].splitlines()[1] == f"  {answer}; an owner reported too late"
    assert shown[second:].splitlines()[1:] == ["  no"]
    for words in ("the lease ran out", "a late report was refused: result", 'event 1 "go"', "a%20b/1"):
        assert words in shown


def test_the_json_is_what_the_schema_says(run: Run, host: DurableHost) -> None:
    repeated(host)
    result = run("history", "i", "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, problems("history", told)) == (0, [])
    assert [each["delivery"] for each in told["deliveries"]] == [
        "lease", "attempt", "expiry", "lease", "attempt", "late",
    ]  # fmt: skip


def test_a_second_outcome_is_a_fault_and_the_exit_status_says_so(tmp_path: Path) -> None:
    """No Host of ours writes one: the tables refuse it. Here they are made to let it pass."""
    place = str(tmp_path / "report.db")
    host = DurableHost(place)
    repeated(host)
    for index in sql.history.indexes:
        if index.unique:
            host.store.run(text(f"DROP INDEX {index.name}"))
    columns = ", ".join(each.name for each in sql.history.columns if each.name != "number")
    again = f"INSERT INTO history ({columns}) SELECT {columns} FROM history WHERE kind = 'attempt'"
    host.store.run(text(again))
    result = CliRunner().invoke(application, ["history", "i", "--db", place])
    assert result.exit_code == 1
    assert "  run-1/a%20b/1 has 2 outcomes\n  run-1/a%20b has 2 outcomes" in result.stdout
    host.close()


def test_the_tables_refuse_a_second_outcome(host: DurableHost) -> None:
    repeated(host)
    number = host.history("i").number
    row = {
        "instance": number, "kind": "attempt", "at": 0, "owner": 1, "step": "a b", "attempt": 1,
        "outcome": "failed", "settles": False, "figure": None, "version": "",
    }  # fmt: skip
    with pytest.raises(ConnectionError, match="other processes were faster every time"):
        host.store.transact(lambda unit: unit.write(sql.INSERT_ENTRY, row))


@pytest.mark.parametrize("command", ["history", "create", "send", "terminate"])
def test_help_teaches_with_an_example(command: str) -> None:
    shown = CliRunner().invoke(application, [command, "--help"]).stdout
    assert "Exit status" in shown
    assert f"  fencepost {command} " in shown
