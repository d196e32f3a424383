"""A Host that is a program: what it may do on its streams, and what is said when it does something else."""

import os
import shlex
import sys
from pathlib import Path

import pytest
from fencepost_conformance import child, hosts
from fencepost_conformance.adapter import AdapterFault
from fencepost_conformance.child import Child
from fencepost_conformance.runner import greet, run_many, run_scenario
from fencepost_conformance.scenario import Scenario

FAKE = str(Path(__file__).with_name("fake_host.py"))
DEADLINE = 0.5


@pytest.fixture
def fake():
    made = []

    def connect(*arguments):
        made.append(Child([sys.executable, "-S", FAKE, *arguments], patience=0.05, grace=0.0))
        return made[-1]

    yield connect
    for each in made:
        each.close()


def scenario(*schedule):
    programs = {"main": [{"return": {}}]}
    document = {"title": "t", "clauses": ["ONE"], "programs": programs, "schedule": list(schedule)}
    return Scenario("s", document)


EVERYTHING = scenario(
    {"create": "i", "program": "main"},
    {"settle": True},
    {"status": "i", "expect": {"any": True}},
    {"start": {"terminate": "i"}, "as": "c"},
    {"pending": "c"},
    {"restart": True},
    {"await": "c"},
)


def gone(connection):
    with pytest.raises(ProcessLookupError):
        os.kill(connection.pid, 0)
    return True


def test_a_program_that_does_nothing_wrong_passes_and_leaves_when_its_input_ends(fake):
    connection = fake()
    result = run_scenario(connection, EVERYTHING)
    assert (result.outcome, result.detail, result.differences) == ("passed", "", ())
    connection.close()
    connection.close()
    assert connection._process.returncode == 0
    assert gone(connection)


@pytest.mark.parametrize("wrong", ["pieces", "slow", "chat", "deep"])
def test_what_is_only_odd_is_no_fault(fake, wrong):
    connection = fake(wrong, "status")
    connection.patience = 10
    result = run_scenario(connection, EVERYTHING)
    assert (result.outcome, result.detail) == ("passed", "")
    if wrong == "chat":
        assert connection.log().endswith("the last words")
        connection.send("settle")
        assert os.fstat(connection._log.fileno()).st_size < 1 << 20


@pytest.mark.parametrize("op", ["handshake", "begin", "settle", "restart", "end"])
def test_a_hang_is_ended_at_the_deadline(fake, op):
    connection = fake("hang", op)
    if op != "handshake":
        greet(connection)
    result = run_scenario(connection, EVERYTHING, deadline=DEADLINE)
    also = " (nor was terminate before it)" if op == "restart" else ""
    assert result.outcome == "errored"
    told, *log = result.detail.split("\n")
    assert told == f"{op} was not answered within 0.5 s{also}"
    assert log == [f"hang at {op}"] or op == "handshake"  # which it may not have begun to read
    assert gone(connection)


@pytest.mark.parametrize("op", ["create", "status"])
def test_a_hang_in_a_call_is_told_by_the_request_after_it(fake, op):
    connection = fake("hang", op)
    greet(connection)
    result = run_scenario(connection, EVERYTHING, deadline=DEADLINE)
    assert result.detail == f"settle was not answered within 0.5 s (nor was {op} before it)\nhang at {op}"
    assert gone(connection)


EXPECTED = "send {"


@pytest.mark.parametrize("op", ["handshake", "create"])
@pytest.mark.parametrize(
    ("wrong", "text", "wanted"),
    [
        ("crash", "the adapter's process ended with exit status 3, before the end of its input", ""),
        ("killed", "the adapter's process was killed by SIGKILL", ""),
        ("half", "the adapter's process ended with exit status 0", 'left half an answer: b\'{"ticket": '),
        ("garbage", "the adapter sent what is not JSON: '\\ufffd\\x00 Listening on port 1'", EXPECTED),
        ("blank", "the adapter sent what is not JSON: ''", EXPECTED),
        ("twice", "the adapter answered ticket", "twice"),
        ("other", "the adapter answered ticket", "which was not asked; repeat the number of the request"),
        ("text", "the adapter's answer has the ticket \"", "repeat the number of the request"),
        ("without", "the adapter's answer has no ticket: '{\"ok\": null}'", "repeat the number"),
        ("both", "the adapter's answer to", "is none of ok, error, fault"),
        ("nameless", "the adapter's answer to", '"error": {"name", "message"}'),
        ("fault", "out of order", ""),
    ],
)
def test_what_breaks_the_protocol_is_told_in_one_line(fake, wrong, text, wanted, op):
    connection = fake(wrong, op)
    result = run_scenario(connection, EVERYTHING)
    assert result.outcome == "errored"
    told, *log = result.detail.split("\n")
    told = told.encode("ascii", "backslashreplace").decode()
    assert told.startswith(text)
    assert wanted in told
    assert log == [f"{wrong} at {op}"]
    assert gone(connection)


def test_a_closed_output_is_told_apart_from_an_end(fake):
    connection = fake("closed", "settle")
    result = run_scenario(connection, EVERYTHING)
    assert result.detail.startswith("the adapter's process closed its standard output and goes on running")
    assert gone(connection)


@pytest.mark.parametrize(
    ("wrong", "limit", "text"),
    [
        ("flood", "LINE_LIMIT", "the adapter sent 1048576 bytes without the end of a line"),
        ("shout", "LOG_LIMIT", "the adapter logged more than 1048576 bytes instead of an answer"),
    ],
)
def test_a_flood_is_dammed(fake, monkeypatch, wrong, limit, text):
    monkeypatch.setattr(child, limit, 1 << 20)
    connection = fake(wrong, "settle")
    result = run_scenario(connection, EVERYTHING, deadline=30)
    assert result.detail.startswith(text)
    assert gone(connection)


def test_a_program_that_does_not_read_is_given_up(fake, monkeypatch):
    monkeypatch.setattr(child, "WRITE_SECONDS", 0.2)
    connection = fake("hang", "begin")
    greet(connection)
    connection.send("begin")
    with pytest.raises(AdapterFault, match="the adapter does not read its requests"):
        connection.send("create", id="y" * (1 << 18))
    assert gone(connection)


def test_the_next_scenario_gets_a_new_process(fake):
    made = iter([("crash", "restart"), ("", "")])
    results = run_many(lambda: fake(*next(made)), [EVERYTHING, EVERYTHING])
    assert [result.outcome for result in results] == ["errored", "passed"]


def test_an_answer_of_a_scenario_that_is_over_disturbs_nobody(fake):
    connection = fake()
    left = scenario({"start": {"terminate": "i"}, "as": "c"})  # answered by the settle of the next one
    for each in (left, EVERYTHING, EVERYTHING):
        assert run_scenario(connection, each).outcome == "passed"


# Addresses


def test_a_program_is_named_as_in_a_shell(tmp_path):
    script = tmp_path / "a host.py"
    script.write_text(Path(FAKE).read_text(encoding="utf-8"), encoding="utf-8")
    connection = hosts.resolve(f"cmd:{shlex.join([sys.executable, str(script)])}")()
    try:
        assert run_scenario(connection, EVERYTHING).outcome == "passed"
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("cmd:", "give 'cmd:PROGRAM ARGUMENTS', such as 'cmd:node host.mjs'"),
        ("cmd:a 'b", "No closing quotation; quote it as for a shell"),
        ("http:", "give http://HOST:PORT, such as http://127.0.0.1:8080"),
        ("http://localhost", "give http://HOST:PORT"),
        ("http://127.0.0.1:0", "give http://HOST:PORT"),
        ("http://127.0.0.1:80?x", "give http://HOST:PORT"),
        ("https://127.0.0.1:80", "no such Host; give reference"),
    ],
)
def test_an_address_that_is_none_is_told_what_to_give(host, text):
    with pytest.raises(hosts.UnknownHost) as told:
        hosts.resolve(host)
    assert text in str(told.value)


@pytest.mark.parametrize(
    ("program", "why"), [("no-such-program", "No such file"), ("/", "Permission denied")]
)
def test_a_program_that_cannot_be_started_is_told(program, why):
    with pytest.raises(AdapterFault, match=why):
        hosts.resolve(f"cmd:{program}")()


def test_node_is_the_one_of_the_extra(monkeypatch):
    from fencepost.contexts import node_tools

    def missing():
        raise node_tools.NodeMissing("JavaScript needs Node")

    monkeypatch.setattr(node_tools, "node", missing)
    with pytest.raises(hosts.UnknownHost, match="JavaScript needs Node"):
        hosts.resolve("cmd:node host.mjs")
    monkeypatch.setattr(node_tools, "node", lambda: Path(sys.executable))
    connection = hosts.resolve(f"cmd:node {shlex.quote(FAKE)}")()
    try:
        assert run_scenario(connection, EVERYTHING).outcome == "passed"
    finally:
        connection.close()
