"""The guide tells the truth: its programs are run, and the kit says what the page says that it says."""

import re
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from fencepost_conformance import adapter_check
from fencepost_conformance.cli.application import application
from fencepost_conformance.loopback import reserved

GUIDE = Path(__file__).parents[2] / "docs" / "host.md"
PORT = "8080"
DEADLINE = 1.0
# by the first that the output has
STATUS = {"not-qualified": 1, "incomplete": 3, "adapter: ": 2, "Host: ": 2, "ok": 0}

BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(kind):
    return [text for found, text in BLOCK.findall(GUIDE.read_text(encoding="utf-8")) if found == kind]


def sessions():
    """Each command that the page shows, with the lines under it, and the server that was started before."""
    for text in blocks("console"):
        server = []
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            if command.startswith("python "):
                server = [command.split()[1]]
            else:
                yield pytest.param(command, output, server, id=" ".join(command.split()[-2:] + server))


@pytest.fixture
def place(tmp_path, monkeypatch, free_port):
    for text in blocks("python"):
        name = re.match(r"# (\w+\.py)\n", text)[1]
        (tmp_path / name).write_text(text.replace(PORT, free_port), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    monkeypatch.setattr(adapter_check, "DEADLINE_SECONDS", DEADLINE)
    return tmp_path


@pytest.fixture
def free_port():
    with reserved() as held:
        yield str(held.getsockname()[1])


@pytest.fixture
def serve(place, free_port):
    running = []

    def start(script):
        running.append(subprocess.Popen([sys.executable, script]))
        limit = time.monotonic() + 20
        while time.monotonic() < limit:
            try:
                socket.create_connection(("127.0.0.1", int(free_port))).close()
                return
            except ConnectionRefusedError:
                time.sleep(0.02)

    yield start
    for each in running:
        each.kill()
        each.wait()


@pytest.mark.parametrize(("command", "expected", "server"), list(sessions()))
def test_the_kit_says_what_the_page_shows(place, free_port, serve, command, expected, server):
    for script in server:
        serve(script)
    arguments = shlex.split(command.replace(PORT, free_port))[1:]
    result = CliRunner(env={"COLUMNS": "400"}).invoke(application, arguments)
    seen = result.stdout.replace(free_port, PORT).replace(f"within {DEADLINE:g} s", "within 10 s")
    pattern = re.escape(expected.strip()).replace(r"\.\.\.", ".*")
    assert re.fullmatch(pattern, seen.strip(), re.DOTALL), seen
    assert result.exit_code == next(status for word, status in STATUS.items() if word in expected)


def test_every_program_of_the_page_is_tried():
    shown = " ".join(blocks("console"))
    for text in blocks("python"):
        assert re.match(r"# (\w+\.py)\n", text)[1] in shown
