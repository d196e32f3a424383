"""Cloudflare's local engine as a foreign Host: both shims drive it, and what of them needs no engine."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from fencepost.contexts.node_tools import NodeMissing, node
from fencepost_conformance.adapter import Connection
from fencepost_conformance.foreign.engines import ENGINES, PLACE, NotInstalled, connecting
from fencepost_conformance.runner import greet
from waiting import until

ENGINE = ENGINES["cloudflare"]
SECONDS = 60.0
PROGRAM = [
    {"do": "a", "effect": {"value": {"n": 1}}, "as": "a"},
    {"sleep": "s", "seconds": 1},
    {"wait": "w", "type": "go", "timeoutSeconds": 600, "as": "p"},
    {"return": {"a": {"$": "a.n"}, "p": {"$": "p"}}},
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
        """The value of an answer, which comes in time."""
        answer = self.connection.poll(self.connection.send(op, **arguments), SECONDS)
        assert answer is not None, self.connection.log()
        assert answer.error is None, answer.error
        return answer.value

    def status(self) -> dict[str, Any]:
        """What a caller reads."""
        return dict(self.ask("status", id="i"))


@pytest.fixture
def kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    """A kit that has greeted the adapter of a shim, and begun."""
    connection = connecting(request.param, lambda bare: bare)()
    try:
        greeting = greet(connection, SECONDS)
        assert "Cloudflare" in greeting.name
        assert greeting.instruments == {"journal", "restart", "responses", "binding"}
        kit = Kit(connection)
        kit.ask("begin", token="t1", versions=["v1"], deployed={"v1": 10_000}, uses=["journal"])
        yield kit
    finally:
        connection.close()


@needs_engine
@pytest.mark.parametrize("kit", ["cloudflare", "cloudflare-raw"], indirect=True)
def test_a_program_outlives_a_restart(kit: Kit, request: pytest.FixtureRequest) -> None:
    program = [*PROGRAM[:2], {"mark": "before"}, *PROGRAM[2:]]
    kit.ask("create", id="i", params={"program": {"$literal": program}})
    until(lambda: kit.ask("journal")["marks"].get("before"), SECONDS)
    kit.ask("restart")
    kit.ask("send_event", id="i", type="go", payload={"n": 2})
    until(lambda: kit.status()["status"] == "complete", SECONDS)
    output = kit.status()["output"]
    is_raw = "raw" in request.node.name
    assert output["a"] == 1
    assert (output["p"]["payload"] if is_raw else output["p"]) == {"n": 2}
    assert kit.ask("journal")["effects"] == {"a": 1}
    kit.ask("end")


@needs_engine
@pytest.mark.parametrize("kit", ["cloudflare"], indirect=True)
def test_a_restart_wakes_what_is_live_and_trips_over_nothing_else(kit: Kit) -> None:
    connection = kit.connection
    asked = connection.poll(connection.send("get", id="nobody"), SECONDS)  # leaves a trace in the storage
    assert asked is not None
    assert asked.error is not None
    kit.ask("create", id="i", params={"program": {"$literal": [{"sleep": "s", "seconds": 2}]}})
    until(lambda: kit.status()["status"] == "sleeping", SECONDS)
    kit.ask("restart")
    until(lambda: kit.ask("journal")["runs"].get("i") == 2, SECONDS)  # nobody has called it since
    until(lambda: kit.status()["status"] == "complete", SECONDS)


@needs_engine
@pytest.mark.parametrize("kit", ["cloudflare"], indirect=True)
def test_a_step_of_a_run_that_has_ended_is_not_tried_again(kit: Kit) -> None:
    effect = {"do": "a", "effect": {"throw": "no"}, "retry": {"maxAttempts": 3, "initialDelaySeconds": 1}}
    program = [{"unawaited": effect}, {"sleep": "s", "seconds": 1}]
    kit.ask("create", id="i", params={"program": {"$literal": program}})
    kit.ask("create", id="j", params={"program": {"$literal": [{"sleep": "s", "seconds": 3}]}})
    until(lambda: kit.status()["status"] == "errored", SECONDS)
    until(
        lambda: kit.ask("status", id="j")["status"] == "complete", SECONDS
    )  # the second attempt's time is over
    assert kit.ask("journal")["effects"].get("a", 0) <= 1


def _run(script: str) -> Any:
    """What a script prints as JSON; it is told where the adapter is."""
    command = [str(node()), "--input-type=module", "--eval", script]
    done = subprocess.run(command, cwd=PLACE / "cloudflare", capture_output=True, check=True, timeout=SECONDS)
    return json.loads(done.stdout)


@needs_node
def test_retries_take_the_engine_s_own_backoff_where_it_says_the_same() -> None:
    script = """
        const { retries } = await import("./steps.mjs");
        const capped = retries(4, (k) => Math.min(3, 2 ** (k - 1)));
        console.log(JSON.stringify([
          retries(1, () => 0),
          retries(3, () => 5),
          retries(4, (k) => 2 ** (k - 1)),
          [1, 2, 3].map((attempt) => capped.delay({ ctx: { attempt } })),
        ]));
    """
    assert _run(script) == [
        {"limit": 0, "delay": 0, "backoff": "constant"},
        {"limit": 2, "delay": 5000, "backoff": "constant"},
        {"limit": 3, "delay": 1000, "backoff": "exponential"},
        [1000, 2000, 3000],
    ]


@needs_node
def test_ids_and_types_are_told_apart_though_the_engine_takes_few() -> None:
    script = """
        const { idOf, typeOf } = await import("./steps.mjs");
        const ids = ["order-1", "é", "a b", "x".repeat(101), "sha256_0", ""];
        console.log(JSON.stringify([ids.map(idOf), typeOf("a\\nb")]));
    """
    ids, type = _run(script)
    assert ids[0] == "order-1"
    assert len(set(ids)) == len(ids)
    assert all(each.startswith("sha256_") and len(each) == 71 for each in ids[1:])
    assert "\n" not in type


@needs_node
def test_a_doomed_run_goes_on_nowhere() -> None:
    script = """
        const { Steps } = await import("../shared/steps.mjs");
        const passed = [];
        class Plain extends Steps {
          ending = (reason) => new Error(reason);
          async do(name, { effect }) { await effect(); return {}; }
        }
        const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
        const code = { async run(event, step) {
          try { await Promise.race([step.do("a", pause), step.do("b", pause)]); passed.push("after"); }
          finally { passed.push("finally"); }
        } };
        const ended = await new Plain().outcome(() => code, {}).catch((error) => error.message);
        await pause(); await pause();
        console.log(JSON.stringify([ended, passed]));
    """
    assert _run(script) == ["step_definition_mismatch", []]
