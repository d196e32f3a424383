"""Workflow classes in JavaScript under the real clock: each context a process, and nothing outlives its stop.

Nothing here sleeps: a test waits for a condition, and gives up after a deadline.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import waiting
from fencepost import Handle
from fencepost.contexts import network
from fencepost.contexts.forkserver import CannotLoad
from fencepost.contexts.node import JavaScript, Request, Response
from fencepost.contexts.node_tools import VARIABLE, NodeMissing
from fencepost.host.node_host import NodeHost

DEADLINE = 60.0
MODULE = """
const programs = {
  sleeps: async (params, step) => {
    try {
      await step.sleep("s", 1);
    } finally {
      await fetch("j:/finally");
    }
    return { slept: true };
  },
  waits: (params, step) => step.waitForEvent("w", { type: "go", timeoutSeconds: 3600 }),
  times: (params, step) => step.do("t", async () => {
    await new Promise((done) => setTimeout(done, 30));
    return { ok: true };
  }),
  asks: (params, step) => step.do("a", async () => {
    const answer = await fetch("j:/ask", { method: "POST", body: params.say });
    return { status: answer.status, text: await answer.text() };
  }),
  fails: (params, step) => step.do("f", () => { throw new Error("no"); }, { maxAttempts: 2 }),
  spins: (params, step) => step.do("x", () => { for (;;); }),
  computes: (params, step) => step.do("c", () => {
    const end = Date.now() + params.milliseconds;
    while (Date.now() < end);
    return { computed: true };
  }),
  idles: () => new Promise(() => {}),
  gates: (params, step) => step.do("g", async () => ({ text: await (await fetch("j:/gate")).text() })),
};

export class Program {
  constructor(env) { this.env = env; }
  run(event, step) { return programs[event.params.do](event.params, step, this.env); }
}
export class Env {
  constructor(env) { this.env = env; }
  async run() { return { env: this.env, fresh: (globalThis.seen = (globalThis.seen ?? 0) + 1) }; }
}
export const notAClass = 1;
"""


until = partial(waiting.until, seconds=DEADLINE)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"


class Journal:
    """Answers what contexts fetch; a gate is held shut until it is opened."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.held: list[Callable[[Response], None]] = []

    def fetch(self, request: Request, answer: Callable[[Response], None]) -> None:
        """Take a request."""
        self.asked.append(request.url.rpartition("/")[2])
        if request.url.endswith("gate"):
            self.held.append(answer)
        else:
            answer(Response(201, (request.body or b"").upper()))


@pytest.fixture(scope="module")
def journal() -> Journal:
    return Journal()


@pytest.fixture(scope="module")
def host(journal: Journal) -> Iterator[NodeHost]:
    with NodeHost(JavaScript(MODULE), "Program", fetch=journal.fetch, log=subprocess.DEVNULL) as host:
        yield host


def pid_of(host: NodeHost, handle: Handle) -> int:
    return int(
        until(lambda: [pid for (id, _), pid in host.snapshot().processes.items() if id == handle.id])[0]
    )


def begun(host: NodeHost, handle: Handle) -> None:
    """Wait until a step is on record."""
    until(lambda: host.snapshot().instances[handle.id].history)


@pytest.mark.parametrize(
    ("params", "ended"),
    [
        ({"do": "times"}, {"status": "complete", "output": {"ok": True}}),
        ({"do": "asks", "say": "hé"}, {"status": "complete", "output": {"status": 201, "text": "H\u00e9"}}),
        ({"do": "fails"}, {"status": "errored", "error": {"reason": "step_failed"}}),
        ({"do": "nothing"}, {"status": "errored", "error": {"reason": "run_threw"}}),
        ({"do": "computes", "milliseconds": 1500}, {"status": "complete", "output": {"computed": True}}),
    ],
)  # fmt: skip
def test_it_runs_what_a_workflow_does(host: NodeHost, params: dict[str, Any], ended: dict[str, Any]) -> None:
    assert host.start(params).wait(DEADLINE) == ended


def test_a_sleep_has_no_process_and_runs_no_finally(host: NodeHost, journal: Journal) -> None:
    before = journal.asked.count("finally")
    handle = host.start({"do": "sleeps"})
    until(lambda: handle.status()["status"] == "sleeping")
    assert (journal.asked.count("finally"), host.snapshot().processes) == (before, {})
    assert handle.wait(DEADLINE) == {"status": "complete", "output": {"slept": True}}
    assert journal.asked.count("finally") == before + 1


def test_an_event_wakes_a_wait(host: NodeHost) -> None:
    handle = host.start({"do": "waits"})
    until(lambda: handle.status()["status"] == "waiting")
    handle.send_event("go", {"n": [1, {"a": None}]})
    assert handle.wait(DEADLINE) == {"status": "complete", "output": {"n": [1, {"a": None}]}}


@pytest.mark.parametrize("do", ["spins", "idles", "gates"])
def test_terminate_ends_the_process_whatever_it_does(host: NodeHost, do: str) -> None:
    handle = host.start({"do": do})
    pid = pid_of(host, handle)
    assert handle.status() == {"status": "running"}
    handle.terminate(DEADLINE)
    assert gone(pid)
    assert handle.status() == {"status": "terminated"}


def test_an_answer_that_comes_too_late_is_heard_by_nobody(host: NodeHost, journal: Journal) -> None:
    handle = host.start({"do": "gates"})
    answer = until(lambda: journal.held and journal.held.pop())
    handle.terminate(DEADLINE)
    answer(Response(200, b"late"))
    assert handle.status() == {"status": "terminated"}


def test_a_context_killed_from_outside_is_replaced_and_its_effect_delivered_again(
    host: NodeHost, journal: Journal
) -> None:
    handle = host.start({"do": "gates"})
    first = pid_of(host, handle)
    until(lambda: journal.held and journal.held.pop())
    os.kill(first, signal.SIGKILL)
    answer = until(lambda: journal.held and journal.held.pop())
    answer(Response(200, b"second"))
    assert handle.wait(DEADLINE) == {"status": "complete", "output": {"text": "second"}}


def test_it_can_be_stopped_before_it_has_a_process(host: NodeHost) -> None:
    for _ in range(8):
        handle = host.start({"do": "idles"})
        handle.terminate(DEADLINE)
        assert handle.status() == {"status": "terminated"}
    until(lambda: host.snapshot().processes == {})


def test_each_context_is_fresh_and_has_exactly_its_env() -> None:
    env = {"A": "1", "B": [True, None]}
    with NodeHost(JavaScript(MODULE), "Env", env=env) as host:
        for _ in range(3):
            assert host.start().wait(DEADLINE)["output"] == {"env": env, "fresh": 1}


def test_the_end_leaves_nothing_running(journal: Journal) -> None:
    host = NodeHost(JavaScript(MODULE), "Program", fetch=journal.fetch)
    handles = [host.start({"do": do}) for do in ("spins", "idles", "gates", "waits")]
    pids = [pid_of(host, handle) for handle in handles[:3]]
    host.close()
    assert all(map(gone, pids))


def test_a_host_without_its_spawner_closes(journal: Journal) -> None:
    host = NodeHost(JavaScript(MODULE), "Program", fetch=journal.fetch)
    handle = host.start({"do": "gates"})
    pid = pid_of(host, handle)
    spawner = host.pool._spawner
    assert spawner is not None
    os.kill(spawner.pid, signal.SIGKILL)
    host.until_closed()
    until(lambda: gone(pid))
    host.close()


def test_so_does_one_that_runs_nothing_when_it_is_to_run_something() -> None:
    host = NodeHost(JavaScript(MODULE), "Program")
    spawner = host.pool._spawner
    assert spawner is not None
    os.kill(spawner.pid, signal.SIGKILL)
    until(lambda: spawner.ended)
    host.start({"do": "idles"})
    host.until_closed()
    host.close()


@pytest.mark.parametrize(
    ("source", "name", "why"),
    [
        (MODULE, "Nothing", "no workflow class Nothing; it has Env, Program"),
        (MODULE, "notAClass", "no workflow class notAClass; it has"),
        ("export const a = 1;", "a", "it exports no class with a method run"),
        ("export class {", "A", "cannot be evaluated"),
        ("import 'node:fs'; export class A { run() {} }", "A", "cannot be evaluated"),
        ("throw new Error('at once'); export class A { run() {} }", "A", "cannot be evaluated"),
    ],
)
def test_a_class_that_is_not_there_is_refused_at_once(source: str, name: str, why: str) -> None:
    with pytest.raises(CannotLoad, match=why):
        NodeHost(JavaScript(source), name, log=subprocess.DEVNULL)


def test_a_module_may_wait_while_it_is_evaluated() -> None:
    source = """
    const text = await (await fetch("j:/x", { method: "POST", body: "hi" })).text();
    await new Promise((done) => setTimeout(done, 10));
    export class A { async run() { return { text }; } }
    """
    with NodeHost(JavaScript(source), "A", fetch=Journal().fetch) as host:
        assert host.start().wait(DEADLINE)["output"] == {"text": "HI"}


def test_what_is_thrown_while_it_is_evaluated_is_logged(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log, pytest.raises(CannotLoad, match="stands above"):
        NodeHost(JavaScript("throw new Error('at once')"), "A", log=log)
    assert "at once" in (tmp_path / "log").read_text()


def test_a_missing_node_is_named_before_anything_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/no/such/node")
    with pytest.raises(NodeMissing):
        NodeHost(JavaScript(MODULE), "Program")


# -- the network that contexts are lent


def fetched(request: Request) -> Response:
    answers: list[Response] = []
    network.fetch(request, answers.append)
    response = until(lambda: answers)[0]
    assert isinstance(response, Response)
    return response


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:///etc/hostname", "only http: and https: can be fetched"),
        ("data:,x", "only http: and https:"),
        ("http://127.0.0.1:1/", "fetch failed:"),
        ("http://", "fetch failed:"),
    ],
)
def test_a_fetch_that_goes_wrong_says_so(url: str, words: str) -> None:
    assert words in (fetched(Request("GET", url)).failed or "")
