"""Users' classes in processes of their own under the real clock: nothing outlives a stop, nothing is lost.

Nothing here sleeps: a test waits for a condition, and gives up after a deadline.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fencepost import CallError, Handle, Host
from fencepost.machine.state import Instance, Succeeded
from waiting import until

DEADLINE = 20.0
TESTS = Path(__file__).parent


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def is_zombie(pid: int) -> bool:
    """Dead, and waiting for an adoptive parent that may not reap."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.fixture(scope="module")
def workflows() -> Iterator[Any]:
    sys.path.insert(0, str(TESTS))
    yield importlib.import_module("host_workflows")
    sys.path.remove(str(TESTS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("host")


@pytest.fixture(scope="module")
def host(workflows: Any, folder: Path) -> Iterator[Host]:
    with Host(workflows.Program, env={"FOLDER": str(folder)}) as host:
        yield host


def words(host: Host, handle: Handle) -> list[str]:
    """What the instance has written into its file."""
    path = Path(host._env["FOLDER"]) / handle.id
    return path.read_text().split() if path.exists() else []


def pid_of(host: Host, handle: Handle) -> int:
    return int(until(lambda: words(host, handle))[0])


def parked(handle: Handle, status: str) -> None:
    until(lambda: handle.status()["status"] == status)


# -- a stop is no exception


def test_suspension_runs_no_finally_and_later_code_does(host: Host) -> None:
    handle = host.start({"do": "careful", "seconds": 1})
    parked(handle, "sleeping")
    assert words(host, handle) == ["start"]
    assert handle.wait(DEADLINE) == {"status": "complete"}
    assert words(host, handle) == ["start", "start", "finally", "end"]


def test_terminate_of_a_sleeping_instance_runs_nothing(host: Host) -> None:
    handle = host.start({"do": "careful", "seconds": 60})
    parked(handle, "sleeping")
    handle.terminate(DEADLINE)
    assert handle.status() == {"status": "terminated"}
    assert words(host, handle) == ["start"]


@pytest.mark.parametrize("do", ["blocked_effect", "blocked_async_effect", "loop", "awaits_nothing"])
def test_terminate_ends_the_process_and_runs_nothing(host: Host, do: str) -> None:
    handle = host.start({"do": do})
    pid = pid_of(host, handle)
    assert handle.status() == {"status": "running"}
    handle.terminate(DEADLINE)
    assert not alive(pid)
    assert handle.status() == {"status": "terminated"}
    assert words(host, handle) == [str(pid)]


# -- losing a context


def test_an_effect_that_ends_its_process_is_delivered_again(host: Host) -> None:
    handle = host.start({"do": "dies_once"})
    assert handle.wait(DEADLINE) == {"status": "complete", "output": {"effects": 2}}


def test_what_an_effect_has_started_ends_with_its_context(host: Host) -> None:
    handle = host.start({"do": "grandchild"})
    pid = pid_of(host, handle)
    assert alive(pid)
    handle.terminate(DEADLINE)
    until(lambda: not alive(pid) or is_zombie(pid))


def test_a_context_that_always_dies_waits_longer_each_time(host: Host) -> None:
    """The delays double, so the n-th start is at least the sum of the first n - 1 delays after the first."""
    handle = host.start({"do": "hopeless"})
    began = time.monotonic()
    until(lambda: len(words(host, handle)) >= 5)
    assert time.monotonic() - began >= 0.020 * (1 + 2 + 4)
    handle.terminate(DEADLINE)


def test_a_context_killed_from_outside_is_replaced(host: Host) -> None:
    handle = host.start({"do": "awaits_nothing"})
    os.kill(pid_of(host, handle), signal.SIGKILL)
    first, second = until(lambda: len(words(host, handle)) == 2 and words(host, handle))
    assert first != second
    handle.terminate(DEADLINE)
    assert not alive(int(second))


NONSENSE = [
    "nonsense", "[1]", "{}", '{"begin": "jump", "name": "a", "arguments": {}}',
    '{"begin": "do", "name": "a", "arguments": 3}', '{"park": ""}', "[" * 100_000,
    '{"commit": "a", "result": null, "failed": false}',
    '{"settle": {"unfit": "?"}, "threw": false, "provenance": null, "broken": false}',
    '{"settle": "[1]", "threw": false, "provenance": null, "broken": false}',
    '{"settle": null, "threw": true, "provenance": "lifetime_exceeded", "broken": false}',
]  # fmt: skip


@pytest.mark.parametrize("line", NONSENSE)
def test_a_context_that_talks_nonsense_is_lost(host: Host, line: str) -> None:
    handle = host.start({"do": "nonsense_once", "line": line})
    assert handle.wait(DEADLINE) == {"status": "complete", "output": {"fine": True}}
    assert not any(alive(int(pid)) for pid in words(host, handle))


# -- what the application throws and awaits


@pytest.mark.parametrize(
    "kind", ["KeyboardInterrupt", "SystemExit", "GeneratorExit", "CancelledError", "MemoryError"]
)
def test_whatever_run_throws_ends_the_run(host: Host, kind: str) -> None:
    thrown = host.start({"do": "throws", "kind": kind, "where": "run"}).wait(DEADLINE)
    assert thrown == {"status": "errored", "error": {"reason": "run_threw"}}
    failed = host.start({"do": "throws", "kind": kind, "where": "effect"}).wait(DEADLINE)
    assert failed == {"status": "errored", "error": {"reason": "step_failed"}}


def test_asynchronous_effects_have_asyncio(host: Host) -> None:
    handle = host.start({"do": "asynchronous"})
    assert handle.wait(DEADLINE) == {"status": "complete", "output": {"sum": 20, "promised": True}}


def test_a_result_is_on_record_before_the_next_effect_begins(host: Host) -> None:
    handle = host.start({"do": "two_effects"})
    pid_of(host, handle)
    slot = host.slot((host.uid, handle.id))
    assert isinstance(slot, Instance)
    assert {name: step.outcome for name, step in slot.history.items()} == {
        "a": Succeeded(b'{"n":1}'),
        "b": None,
    }
    handle.terminate(DEADLINE)


def test_events_are_handed_out_in_order(host: Host) -> None:
    handle = host.start({"do": "two_events"})
    parked(handle, "waiting")
    handle.send_event("other")
    for number in (1, 2, 3):
        handle.send_event("go", {"n": number})
    assert handle.wait(DEADLINE)["output"] == {"got": [{"n": 1}, {"n": 2}]}


def test_each_retry_has_a_context_of_its_own(host: Host) -> None:
    assert host.start({"do": "retried"}).wait(DEADLINE)["output"] == {"attempts": 3, "contexts": 3}


def test_a_wait_times_out(host: Host) -> None:
    handle = host.start({"do": "timed_out"})
    parked(handle, "waiting")
    handle.send_event("other")
    assert handle.wait(DEADLINE)["output"] == {"name": "wait_timeout"}


def test_every_context_has_the_module_as_it_was_evaluated(host: Host) -> None:
    handle = host.start({"do": "fresh"})
    parked(handle, "waiting")
    handle.send_event("go")
    assert handle.wait(DEADLINE)["output"] == {"evaluations": 1}


def test_output_and_params_are_documents(host: Host) -> None:
    params = {"do": "returns", "deep": [{"a": None}], "zero": -0.0}
    output = host.start(params, id="mine").wait(DEADLINE)["output"]
    assert output == {"number": 7, "params": {"do": "returns", "deep": [{"a": None}], "zero": 0}}


# -- the caller's errors


def test_calls_are_rejected_by_name(host: Host) -> None:
    done = host.start({"do": "returns"}, id="named")
    done.wait(DEADLINE)
    rejected: list[tuple[str, Callable[[], Any]]] = [
        ("instance_exists", lambda: host.start({"do": "returns"}, id="named")),
        ("invalid_params", lambda: host.start({"x": {1, 2}})),
        ("document_too_large", lambda: host.start({"x": "x" * 1_048_576})),
        ("TypeError", lambda: host.start({}, id="")),
        ("unknown_instance", lambda: host.handle("nobody")),
        ("instance_terminal", lambda: done.send_event("go")),
    ]
    for name, call in rejected:
        with pytest.raises(CallError, match=rf"^{name}: .+") as caught:
            call()
        assert caught.value.name == name
    assert host.handle("named").id == "named"
    done.terminate(DEADLINE)
    assert done.status()["status"] == "complete"


def test_waiting_is_idle(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two callers that wait must not wake each other for ever."""
    handles = [host.start({"do": "awaits_nothing"}) for _ in range(2)]
    for handle in handles:
        pid_of(host, handle)
    looks = 0
    status = host.status

    def counted(id: Any) -> dict[str, Any]:
        nonlocal looks
        looks += 1
        return status(id)

    monkeypatch.setattr(host, "status", counted)

    def wait(handle: Handle) -> None:
        with pytest.raises(TimeoutError, match="is running after"):
            handle.wait(0.2)

    other = threading.Thread(target=wait, args=handles[:1])
    other.start()
    wait(handles[1])
    other.join()
    assert looks < 30
    for handle in handles:
        handle.terminate(DEADLINE)


# -- ends of the Host


def carriers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("fencepost-")]


def test_close_leaves_nothing_running(workflows: Any, tmp_path: Path) -> None:
    threads = set(carriers())
    with Host(workflows.Program, env={"FOLDER": str(tmp_path)}) as host:
        handles = [host.start({"do": do}) for do in ("loop", "blocked_effect", "awaits_nothing")]
        pids = [pid_of(host, handle) for handle in handles]
        server = host._server._process.pid
    assert not any(map(alive, [*pids, server]))
    assert set(carriers()) <= threads
    for call in (handles[0].status, handles[0].terminate, handles[0].wait, lambda: host.start({})):
        with pytest.raises(CallError, match="backend_unavailable"):
            call()
    host.close()


def test_a_lost_fork_server_ends_every_call(workflows: Any, tmp_path: Path) -> None:
    with Host(workflows.Program, env={"FOLDER": str(tmp_path)}) as host:
        handle = host.start({"do": "awaits_nothing"})
        pid = pid_of(host, handle)
        host._server._process.kill()
        with pytest.raises(CallError, match="backend_unavailable"):
            handle.wait(DEADLINE)
        until(lambda: not alive(pid))


@pytest.mark.parametrize("way", ["error", "exit"])
def test_a_module_that_cannot_be_evaluated_ends_the_run(
    workflows: Any, way: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FENCEPOST_TEST_BREAK", way)
    with Host(workflows.Program) as host:
        assert host.start({}).wait(DEADLINE) == {"status": "errored", "error": {"reason": "run_threw"}}
    assert "on purpose" in capfd.readouterr().err


def test_what_no_process_could_load_is_refused(workflows: Any) -> None:
    class Local:
        pass

    with pytest.raises(ValueError, match=r"^define .*Local at the top of a module"):
        Host(Local)
    with pytest.raises(TypeError, match="JSON"):
        Host(workflows.Program, env={"KEY": object()})


# -- scripts

SCRIPT = """
    import os
    import signal
    from fencepost import Host

    class Spin:
        def __init__(self, env):
            self.env = env

        async def run(self, event, step):
            if event.params == {"return": True}:
                return {"file": __name__}
            await step.do("a", lambda: print(os.getpid(), flush=True))
            while True:
                pass

    if __name__ == "__main__":
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in background jobs
        with Host(Spin) as host:
            print(host.start({"return": True}).wait(20)["status"], host._server._process.pid, flush=True)
            host.start().wait()
"""


@pytest.fixture
def script(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A program that is run as a script and waits for a context that spins; its children's process ids."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(SCRIPT))
    with subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as controller:
        assert controller.stdout is not None
        status, server = controller.stdout.readline().split()
        assert status == "complete"
        yield controller, [int(server), int(controller.stdout.readline())]
        controller.kill()


def test_a_killed_controller_leaves_no_orphan(script: tuple[subprocess.Popen[str], list[int]]) -> None:
    controller, pids = script
    assert all(map(alive, pids))
    controller.send_signal(signal.SIGKILL)
    controller.wait(DEADLINE)
    until(lambda: not any(map(alive, pids)))


def test_an_interrupted_controller_leaves_nothing(script: tuple[subprocess.Popen[str], list[int]]) -> None:
    controller, pids = script
    controller.send_signal(signal.SIGINT)
    assert controller.wait(DEADLINE) != 0
    assert not any(map(alive, pids))
    assert controller.stderr is not None
    assert controller.stderr.read().rstrip().endswith("KeyboardInterrupt")


def test_a_script_without_a_guard_is_told_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "unguarded.py"
    path.write_text(textwrap.dedent(SCRIPT.replace('if __name__ == "__main__"', "if True")))
    controller = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert "if __name__ == '__main__'" in controller.stderr
