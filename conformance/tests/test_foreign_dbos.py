"""DBOS as a foreign Host: what its adapter translates, and that both shims drive the engine at all."""

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from fencepost_conformance.adapter import Answer, Connection
from fencepost_conformance.child import python_child
from fencepost_conformance.foreign.dbos.translation import STATUSES, TERMINAL, Scenario, parked, retries
from fencepost_conformance.runner import greet
from waiting import until

needs_dbos = pytest.mark.skipif(
    importlib.util.find_spec("dbos") is None, reason="needs DBOS: pip install 'fencepost[dbos]'"
)
SECONDS = 60.0
PROGRAM = [
    {"do": "a", "effect": {"attempts": [{"value": {"n": 1}}, {"value": {"n": 2}}]}, "as": "a"},
    {"mark": "committed"},
    {"sleep": "s", "seconds": 1},
    {"wait": "w", "type": "go", "timeoutSeconds": 600, "as": "p"},
    {"return": {"a": {"$": "a.n"}, "p": {"$": "p.n"}}},
]


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

    def begin(self, token: str, uses: Sequence[str] = ("journal",)) -> None:
        """Begin a scenario."""
        self.ask("begin", token=token, versions=["v1"], deployed={"v1": 10_000}, uses=list(uses))

    def create(self, id: str, program: Any) -> None:
        """Create an instance with a program."""
        self.ask("create", id=id, params={"program": {"$literal": program}})

    def status(self, id: str) -> dict[str, Any]:
        """What a caller reads."""
        return dict(self.ask("status", id=id))

    def effects(self) -> dict[str, int]:
        """How often each effect began."""
        return self.counts("effects")

    def counts(self, what: str) -> dict[str, int]:
        """How often each of these was reported."""
        return dict(self.ask("journal")[what])

    def ended(self, id: str) -> dict[str, Any]:
        """What a caller reads in the end."""
        return dict(_at_last(lambda: (read := self.status(id))["status"] in TERMINAL and read))


@pytest.fixture
def kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    """A kit that has greeted the adapter of a shim."""
    connection = python_child("fencepost_conformance.foreign.dbos", request.param)
    try:
        greeting = greet(connection, SECONDS)
        assert "DBOS" in greeting.name
        assert "clock" not in greeting.instruments
        yield Kit(connection)
    finally:
        connection.close()


def _at_last(look: Callable[[], Any]) -> Any:
    return until(look, SECONDS)


@needs_dbos
@pytest.mark.parametrize("kit", ["raw", "emulated"], indirect=True)
def test_a_program_goes_on_after_a_restart(kit: Kit) -> None:
    kit.begin("t1")
    kit.create("i", PROGRAM)
    _at_last(lambda: kit.ask("journal")["marks"] == {"committed": 1})
    kit.ask("restart")
    kit.ask("send_event", id="i", type="go", payload={"n": 2})
    assert kit.ended("i") == {"status": "complete", "output": {"a": 1, "p": 2}}
    assert kit.effects() == {"a": 1}
    kit.ask("end")


@needs_dbos
@pytest.mark.parametrize("kit", ["emulated"], indirect=True)
def test_a_scenario_knows_nothing_of_the_last_one(kit: Kit) -> None:
    kit.begin("t1")
    kit.create("i", PROGRAM)
    _at_last(lambda: kit.status("i")["status"] == "waiting")
    refused = kit.answer("create", id="i", params={"program": []}).error
    assert refused is not None
    assert refused[0] == "instance_exists"
    kit.ask("end")
    kit.begin("t2")
    unknown = kit.answer("get", id="i").error
    assert unknown is not None
    assert unknown[0] == "unknown_instance"
    kit.ask("end")


@needs_dbos
@pytest.mark.parametrize("kit", ["raw"], indirect=True)
def test_what_does_not_come_to_rest_is_left_behind(kit: Kit) -> None:
    kit.begin("t1")
    kit.create("i", [{"mark": "m"}, {"spin": True}])
    _at_last(lambda: kit.ask("journal")["marks"] == {"m": 1})
    kit.ask("end")
    kit.begin("t2")
    kit.create("i", [{"return": {}}])
    _at_last(lambda: kit.status("i") == {"status": "complete", "output": {}})
    kit.ask("end")


@needs_dbos
@pytest.mark.parametrize(
    ("kit", "point", "begun", "comes_after_the_event"),
    [
        ("raw", "effect-start:a", 2, False),
        ("emulated", "effect-end:a", 2, False),
        ("raw", "committed:a", 1, False),
        ("raw", "parked:s", 1, False),
        ("emulated", "parked:w", 1, False),
        ("emulated", "consumed:w", 1, True),
        ("raw", "settled", 1, True),
    ],
    indirect=["kit"],
)
def test_a_kill_at_a_trap_springs_once_and_the_run_goes_on(
    kit: Kit, point: str, begun: int, comes_after_the_event: bool
) -> None:
    kit.begin("t1", ["journal", "kill"])
    kit.ask("kill", id="i", at=point)
    kit.create("i", PROGRAM)
    if not comes_after_the_event:
        _at_last(lambda: kit.counts("runs") == {"i": 2})
    kit.ask("send_event", id="i", type="go", payload={"n": 2})
    assert kit.ended("i") == {"status": "complete", "output": {"a": begun, "p": 2}}
    assert kit.effects() == {"a": begun}
    assert kit.counts("runs") == {"i": 2}
    assert kit.ask("end") == {"unsprung": []}


@needs_dbos
@pytest.mark.parametrize("kit", ["emulated"], indirect=True)
def test_the_kill_of_one_owner_leaves_the_run_of_another_alone(kit: Kit) -> None:
    kit.begin("t1", ["journal", "kill"])
    for id in ("i", "j"):
        kit.create(id, [{"do": id, "effect": {"gate": "g", "then": {"value": {}}}}, {"return": {"id": id}}])
    _at_last(lambda: kit.effects() == {"i": 1, "j": 1})
    kit.ask("kill", id="i", at="now")
    _at_last(lambda: kit.effects()["i"] == 2)
    kit.ask("release", gate="g")
    assert [kit.ended(id)["output"] for id in ("i", "j")] == [{"id": "i"}, {"id": "j"}]
    assert kit.effects() == {"i": 2, "j": 1}
    kit.ask("terminate", id="j")
    kit.ask("end")


@needs_dbos
@pytest.mark.parametrize("kit", ["emulated"], indirect=True)
def test_a_trap_that_never_sprang_is_told(kit: Kit) -> None:
    kit.begin("t1", ["journal", "kill"])
    for point in ("consumed:w", "committed:b"):
        kit.ask("kill", id="i", at=point)
    kit.create("i", [{"wait": "w", "type": "go", "timeoutSeconds": 600}])
    _at_last(lambda: kit.status("i")["status"] == "waiting")
    kit.ask("terminate", id="i")
    assert kit.status("i") == {"status": "terminated"}
    assert kit.ask("end") == {"unsprung": ["kill i at consumed:w", "kill i at committed:b"]}


def test_ids_carry_the_token_of_their_scenario() -> None:
    scenario = Scenario("t1", "", "v1")
    assert scenario.workflow_id("i") == "t1/i"
    assert scenario.instance_id("t1/i") == "i"
    assert scenario.instance_id("issued") == "issued"
    assert [scenario.workflow_id(id) for id in ("", 7, None)] == ["", 7, None]


@pytest.mark.parametrize(
    ("policy", "interval", "rate"),
    [
        ({"maxAttempts": 3}, 0, 1.0),
        ({"maxAttempts": 3, "initialDelaySeconds": 10, "backoff": "exponential"}, 10, 2.0),
        ({"maxAttempts": 3, "initialDelaySeconds": 10, "backoff": "constant"}, 10, 1.0),
    ],
)
def test_a_policy_becomes_options_of_a_step(policy: dict[str, Any], interval: int, rate: float) -> None:
    assert retries(policy) == {
        "retries_allowed": True,
        "max_attempts": 3,
        "interval_seconds": interval,
        "backoff_rate": rate,
    }


def _step(number: int, name: str, output: Any = None) -> dict[str, Any]:
    return {"function_id": number, "function_name": name, "output": output}


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        ([], "running"),
        ([_step(1, "a")], "running"),
        ([_step(1, "DBOS.sleep", 20.0)], "sleeping"),
        ([_step(1, "DBOS.sleep", 9.0)], "running"),
        ([_step(1, "a"), _step(2, "DBOS.sleep", 20.0)], "sleeping"),
        ([_step(2, "DBOS.sleep", 20.0)], "waiting"),
        ([_step(1, "a"), _step(3, "DBOS.sleep", 20.0)], "waiting"),
        ([_step(1, "DBOS.recv"), _step(2, "DBOS.sleep", 20.0)], "running"),
        ([_step(1, "DBOS.recv"), _step(2, "DBOS.sleep", 5.0), _step(3, "DBOS.sleep", 20.0)], "sleeping"),
    ],
)
def test_the_last_step_on_record_says_whether_a_workflow_is_parked(steps: Any, status: str) -> None:
    assert parked(steps, now=10.0) == status


def test_every_status_of_dbos_has_a_word() -> None:
    assert set(STATUSES.values()) == {"queued", "running", *TERMINAL}


@needs_dbos
def test_an_id_that_the_database_cannot_keep_is_of_nobody() -> None:
    from fencepost_conformance.foreign.dbos.emulated_shim import Refused, Shim

    with pytest.raises(Refused) as caught:
        Shim().status("a\udc00")
    assert caught.value.name == "unknown_instance"
