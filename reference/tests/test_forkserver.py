"""The fork server: fresh contexts, proven stops, and nothing left when either end goes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from fencepost import Host
from fencepost.contexts.forkserver import ForkServer, Module, ServerLost
from waiting import until

DEADLINE = 20.0


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.fixture
def server() -> Iterator[ForkServer]:
    server = ForkServer(Module(name="fencepost"))
    yield server
    server.close()


def test_a_context_is_reaped_when_its_stop_returns(server: ForkServer) -> None:
    for _ in range(20):
        pid, channel = server.spawn()
        server.stop(pid)
        assert gone(pid)
        server.stop(pid)
        channel.close()


def test_only_contexts_of_its_own_are_stopped(server: ForkServer) -> None:
    server.stop(os.getpid())
    server.stop(os.getppid())


def test_a_context_that_ends_by_itself_is_reaped_and_heard_of(server: ForkServer) -> None:
    pid, channel = server.spawn()
    channel.close()
    until(lambda: gone(pid))
    pid, channel = server.spawn()
    channel.send({"no": "start"})
    with pytest.raises(EOFError):
        channel.receive()
    channel.close()
    until(lambda: gone(pid))


def test_closing_ends_every_context_and_the_server(server: ForkServer) -> None:
    spawned = [server.spawn() for _ in range(3)]
    server.close()
    assert all(gone(pid) for pid, _ in spawned)
    assert server._process.returncode == 0
    for _, channel in spawned:
        channel.close()


def test_a_server_that_is_gone_says_so(server: ForkServer) -> None:
    pid, channel = server.spawn()
    server._process.kill()
    server._process.wait()
    with pytest.raises(ServerLost, match="the fork server is gone"):
        server.stop(pid)
    with pytest.raises(ServerLost):
        server.spawn()
    until(lambda: gone(pid))
    channel.close()


def test_a_closed_channel_frees_the_thread_that_reads_from_it(server: ForkServer) -> None:
    _, channel = server.spawn()
    ended = threading.Event()

    def read() -> None:
        with pytest.raises((EOFError, ValueError)):
            channel.receive()
        ended.set()

    reader = threading.Thread(target=read)
    reader.start()
    channel.close()
    assert ended.wait(DEADLINE)
    reader.join()


def test_where_a_class_was_defined() -> None:
    assert Module.of(Host) == Module(name="fencepost.host.host")


@pytest.mark.parametrize("way", ["file", "module"])
def test_a_program_is_found_by_its_file_or_its_name(tmp_path: Path, way: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from fencepost.contexts.forkserver import Module\n"
        "class Flow: pass\n"
        "if __name__ == '__main__': print(Module.of(Flow))\n"
    )
    arguments = [str(program)] if way == "file" else ["-m", "program"]
    shown = subprocess.run(
        [sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    wanted = Module(path=str(program)) if way == "file" else Module(name="program")
    assert shown.stdout.strip() == repr(wanted)


def test_a_class_from_a_prompt_is_refused() -> None:
    text = "from fencepost.contexts.forkserver import Module\nclass Flow: pass\nModule.of(Flow)"
    shown = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert shown.stderr.splitlines()[-1].startswith("ValueError: define Flow in a module: a prompt has none")
