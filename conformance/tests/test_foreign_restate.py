"""Restate as a foreign Host: both shims drive it, and what of them needs no engine."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from fencepost.contexts.node_tools import NodeMissing, node
from fencepost_conformance.adapter import Answer, Connection
from fencepost_conformance.foreign.engines import ENGINES, PLACE, NotInstalled, connecting
from fencepost_conformance.runner import greet
from waiting import until

ENGINE = ENGINES["restate"]
SECONDS = 60.0
PROGRAM = [
    {"do": "a", "effect": {"value": {"n": 1}}, "as": "a"},
    {"sleep": "s", "seconds": 1},
    {"mark": "woken"},
    {"wait": "w", "type": "go", "timeoutSeconds": 600, "as": "p"},
    {"return": {"a": {"$": "a.n"}, "p": {"$": "p.n"}}},
]


def _missing() -> str:
    try:
        ENGINE.require()
    except (NotInstalled, NodeMissing) as missing:
        return str(missing)
    return ""


needs_engine = pytest.mark.skipif(bool(_missing()), reason=_missing())
needs_node = pytest.mark.skipif("node" in _missing(), reason="needs Node: pip install 'fencepost[js]'")


class Kit:
    """Asks one thing after the other."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def ask(self, op: str, **arguments: Any) -> Any:
        """The value of an answer."""
        answer = self.answer(op, **arguments)
        assert answer.error is None, answer.error
        return answer.value

    def answer(self, op: str, **arguments: Any) -> Answer:
        """The answer, which comes in time."""
        answer = self.connection.poll(self.connection.send(op, **arguments), SECONDS)
        assert answer is not None, self.connection.log()
        return answer

    def begin(self, token: str) -> None:
        """Begin a scenario."""
        self.ask("begin", token=token, versions=["v1"], deployed={"v1": 10_000}, uses=["journal"])

    def create(self, program: Any) -> None:
        """Create the instance."""
        self.ask("create", id="i", params={"program": {"$literal": program}})

    def status(self) -> str:
        """The word that a caller reads."""
        return str(self.ask("status", id="i").get("status"))


@pytest.fixture
def kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    """A kit that has greeted the adapter of a shim."""
    connection = connecting(request.param, lambda bare: bare)()
    try:
        greeting = greet(connection, SECONDS)
        assert "Restate" in greeting.name
        assert greeting.instruments == {"journal", "restart", "responses", "backend"}
        yield Kit(connection)
    finally:
        connection.close()


@needs_engine
@pytest.mark.parametrize("kit", ["restate", "restate-raw"], indirect=True)
def test_a_program_outlives_a_restart(kit: Kit) -> None:
    kit.begin("t1")
    kit.create(PROGRAM)
    until(lambda: kit.ask("journal")["marks"].get("woken"), SECONDS)
    kit.ask("restart")
    kit.ask("send_event", id="i", type="go", payload={"n": 2})
    until(lambda: kit.status() == "complete", SECONDS)
    assert kit.ask("status", id="i")["output"] == {"a": 1, "p": 2}
    assert kit.ask("journal")["effects"] == {"a": 1}
    kit.ask("end")


@needs_engine
@pytest.mark.parametrize("kit", ["restate"], indirect=True)
def test_a_scenario_knows_nothing_of_the_last_one(kit: Kit) -> None:
    kit.begin("t1")
    kit.create(PROGRAM)
    until(lambda: kit.status() == "waiting", SECONDS)
    refused = kit.answer("create", id="i", params={"program": []}).error
    assert refused is not None
    assert refused[0] == "instance_exists"
    kit.ask("end")
    kit.begin("t2")
    unknown = kit.answer("get", id="i").error
    assert unknown is not None
    assert unknown[0] == "unknown_instance"
    kit.ask("end")


@needs_engine
@pytest.mark.parametrize("kit", ["restate"], indirect=True)
def test_terminate_ends_an_effect_that_would_never_end(kit: Kit) -> None:
    kit.begin("t1")
    kit.create([{"do": "a", "effect": {"ticking": "tick", "everyMs": 20}}])
    until(lambda: kit.ask("journal")["marks"].get("tick"), SECONDS)
    kit.ask("terminate", id="i")
    assert kit.status() == "terminated"
    kit.ask("end")


def _run(script: str) -> Any:
    """What a script prints as JSON; it is told where the adapter is."""
    command = [str(node()), "--input-type=module", "--eval", script]
    done = subprocess.run(command, cwd=PLACE / "restate", capture_output=True, check=True, timeout=SECONDS)
    return json.loads(done.stdout)


@needs_node
def test_an_attempt_that_is_over_leaves_no_timer_and_sends_no_request() -> None:
    script = """
        const sent = [];
        globalThis.fetch = async (url) => void sent.push(url);
        const { attempt } = await import("./attempt.mjs");
        const fired = [];
        const hook = attempt({ request: { attemptCompletedSignal: new AbortController().signal } });
        let later;
        await hook.interceptor.handler(async () => {
          fetch("in time");
          setTimeout(() => fired.push("timer"), 1);
          later = new Promise((resolve) => setImmediate(() => { fetch("too late"); resolve(); }));
        });
        await later;
        await new Promise((resolve) => setTimeout(resolve, 20));
        console.log(JSON.stringify([sent, fired]));
    """
    assert _run(script) == [["in time"], []]


@needs_node
def test_a_report_leaves_before_code_computes() -> None:
    script = """
        import { Worker } from "node:worker_threads";
        const { reporter } = await import("./reporter.mjs");
        const seen = new SharedArrayBuffer(4);
        const code = `
          import { createServer } from "node:http";
          import { workerData, parentPort } from "node:worker_threads";
          const server = createServer((request, response) => {
            Atomics.store(new Int32Array(workerData), 0, 1);
            Atomics.notify(new Int32Array(workerData), 0);
            response.end("{}");
          });
          server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
        `;
        const thread = new Worker(code, { eval: true, workerData: seen });
        const port = await new Promise((resolve) => thread.once("message", resolve));
        const send = reporter();
        await send(`http://127.0.0.1:${port}/first`); // its thread is up
        Atomics.store(new Int32Array(seen), 0, 0);
        const answered = send(`http://127.0.0.1:${port}/mark`, { method: "POST", body: "{}" });
        const heard = Atomics.wait(new Int32Array(seen), 0, 0, 30_000); // nothing else has a turn
        console.log(JSON.stringify([heard === "timed-out", await (await answered).json()]));
        process.exit(0);
    """
    assert _run(script) == [False, {}]


@needs_node
def test_each_suspended_run_is_told_by_its_last_command() -> None:
    script = """
        const { parked } = await import("./raw.mjs");
        const rows = [
          { entry_type: "Command: Sleep", name: "sleep s" },
          { entry_type: "Command: Sleep", name: "" },
          { entry_type: "Command: Call", name: "" },
        ];
        const told = rows.map((row) => parked({ query: async () => [row] }, "inv"));
        console.log(JSON.stringify(await Promise.all(told)));
    """
    assert _run(script) == ["sleeping", "waiting", "running"]
