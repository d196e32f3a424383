"""Processes of Node: a stop is real, a loss is noticed, and nothing outlives whoever started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fencepost.contexts import node_process
from fencepost.contexts.node_process import NodeProcess, Pool, ProcessLost
from fencepost.contexts.node_tools import node
from waiting import until

DEADLINE = 20.0

SOURCE = """
const mark = (label) => { fetch(`http://marks/${label}`).catch(() => {}); };
export class Spins {
  async run(event, step) {
    await step.do("spin", () => { try { for (;;); } finally { mark("finally"); } });
  }
}
export class Floods { async run(event, step) { for (;;) step.do(7).catch(() => {}); } }
export class ComputesLong {
  async run() { const end = performance.now() + 60; while (performance.now() < end); return { done: true }; }
}
export class Rests {
  async run(event, step) {
    try { await step.do("rest", () => new Promise(() => {})); } finally { mark("finally"); }
  }
}
export class OverlapsWhereTheStackEnds {
  async run(event, step) {
    const deep = () => {
      try {
        deep();
      } catch (error) {
        try { step.do("a", () => ({})); step.do("b", () => ({})); } catch {}
        throw error;
      }
    };
    try { deep(); } catch {}
    await null;
    mark("on");
    return {};
  }
}
export class Works { async run(event, step) { return await step.do("a", () => ({ n: 1 })); } }
"""


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie, which only waits for an adoptive parent."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


@pytest.fixture(scope="module")
def stage(stage_of: Callable[[str], Any]) -> Any:
    return stage_of(SOURCE)


def begun(stage: Any, class_name: str) -> tuple[Any, int]:
    """A Host with the instance `i` under way, and the process of its context."""
    host = stage.host(class_name)
    host.create("i")
    host.settle()
    (owner,) = host.owners
    return host, owner.execution.pid


@pytest.mark.parametrize("class_name", ["Spins", "Floods", "Rests"])
def test_terminate_ends_the_process_and_runs_no_code(
    stage: Any, class_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_process, "COMPUTING_SECONDS", 0.1)
    host, pid = begun(stage, class_name)
    assert alive(pid)
    assert host.status("i") == {"status": "running"}
    assert host.terminate("i").done()
    assert host.status("i") == {"status": "terminated"}
    assert not alive(pid)
    assert stage.marks == []


def test_what_is_stuck_goes_on_living(stage: Any) -> None:
    host, pid = begun(stage, "Rests")
    host.stuck("i")
    ended = host.terminate("i")
    assert host.status("i") == {"status": "running"}
    assert alive(pid)
    host.unstuck("i")
    assert not alive(pid)
    assert host.status("i") == {"status": "terminated"}
    assert ended.done()


def test_a_restart_kills_every_context(stage: Any) -> None:
    host, pid = begun(stage, "Rests")
    host.restart()
    assert not alive(pid)
    host.settle()
    assert host.status("i") == {"status": "running"}


def test_a_killed_process_is_a_lost_owner_and_the_next_one_waits(stage: Any) -> None:
    host, pid = begun(stage, "Rests")
    os.kill(pid, signal.SIGKILL)

    def noticed() -> bool:
        host.settle()
        return not host.owners

    until(noticed)
    assert host.status("i") == {"status": "queued"}
    host.advance(20)
    host.settle()
    (owner,) = host.owners
    assert owner.execution.pid != pid


def test_code_that_computes_for_a_while_ends_its_turn(stage: Any) -> None:
    assert stage.play("ComputesLong") == {"done": True}


def test_a_stop_at_the_limit_of_the_stack_is_sticky(stage: Any) -> None:
    assert stage.play("OverlapsWhereTheStackEnds") in ("step_definition_mismatch", "running", "queued")
    assert stage.marks == []


NONSENSE = {
    "no JSON": "nonsense",
    "no object": "[1]",
    "nothing": "{}",
    "an unknown word": '{"hello":true,"timer":null}',
    "a turn without its timer": '{"quiet":true}',
    "a step that is not open": '{"commit":"x","result":null,"failed":false,"timer":null}',
    "a document that is none": '{"settle":"[1]","threw":false,"provenance":null,"broken":false,"timer":null}',
    "an unknown provenance": '{"settle":null,"threw":true,"provenance":"x","broken":false,"timer":null}',
    "an unknown step operation": '{"begin":"jump","name":"a","arguments":{}}',
    "arguments that are none": '{"begin":"do","name":"a","arguments":7}',
    "an unknown binding": '{"call":1,"binding":"X","op":"get","arguments":{}}',
    "a request without a method": '{"fetch":1}',
    "a deep message": '{"quiet":' + "[" * 20_000 + "]" * 20_000 + "}",
}


@pytest.mark.parametrize("line", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_the_loss_of_the_context(
    stage: Any, monkeypatch: pytest.MonkeyPatch, pool: Pool, line: str
) -> None:
    host = stage.host("Works", pool=pool)
    program = (
        "const { readSync, writeSync } = require('fs'); const bytes = Buffer.alloc(65536);"
        "writeSync(3, '{\"ready\":true}\\n'); readSync(3, bytes);"
        f"writeSync(3, {line!r} + '\\n'); readSync(3, bytes);"
    )
    monkeypatch.setattr(node_process, "_command", lambda heap: [str(node()), "-e", program])
    host.create("i")
    host.settle()
    assert host.owners == []
    assert host.status("i")["status"] in ("running", "queued")


@pytest.fixture
def pool() -> Iterator[Pool]:
    pool = Pool(0)
    yield pool
    pool.close()


def test_a_process_that_does_not_come_up_is_lost(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_process, "_command", lambda heap: [str(node()), "-e", "0"])
    with pytest.raises(ProcessLost):
        pool.take()


def test_the_pool_gives_each_process_once(pool: Pool) -> None:
    taken = [pool.take(), pool.take()]
    assert taken[0].pid != taken[1].pid
    pool.close()
    assert not any(alive(process.pid) for process in taken)
    for process in taken:
        process.forget()


def test_a_stop_may_be_asked_for_twice(pool: Pool) -> None:
    process = pool.take()
    process.stop()
    process.stop()
    assert not alive(process.pid)


CONTROLLER = """
import sys
from fencepost.contexts import node_process
from fencepost.contexts.node import JavaScript
from fencepost.host.javascript import JavaScriptHost
node_process.COMPUTING_SECONDS = 0.05
source = "export class Spins { run() { for (;;); } }"
host = JavaScriptHost({"v1": JavaScript(source)}, {"v1": 10_000}, class_name="Spins")
host.create("i")
host.settle()
print(*[owner.execution.pid for owner in host.owners], flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_controller_leaves_no_orphan(how: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CONTROLLER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as controller:
        assert controller.stdout is not None
        pid = int(controller.stdout.readline())
        assert alive(pid)
        controller.send_signal(how)
        controller.wait(DEADLINE)
        until(lambda: not alive(pid))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a parent-death signal")
def test_a_killed_spawner_leaves_no_orphan(pool: Pool) -> None:
    process: NodeProcess = pool.take()
    assert pool._spawner is not None
    os.kill(pool._spawner.pid, signal.SIGKILL)
    until(lambda: not alive(process.pid))
    with pytest.raises(ProcessLost):
        process.receive()
    process.forget()
