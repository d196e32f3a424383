"""A Host that is a server: several requests at once, and what is said of a response that is no answer."""

import subprocess
import sys
from pathlib import Path

import pytest
from fencepost_conformance import http_host
from fencepost_conformance.adapter import AdapterFault
from fencepost_conformance.http_host import HttpHost
from fencepost_conformance.runner import greet, run_many, run_scenario
from fencepost_conformance.scenario import Scenario

FAKE = str(Path(__file__).with_name("fake_host.py"))
DEADLINE = 0.5


@pytest.fixture
def address():
    running = []

    def start(*arguments):
        command = [sys.executable, "-S", FAKE, "--http", "-", *arguments]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))
        return f"http://127.0.0.1:{int(running[-1].stdout.readline())}"

    yield start
    for each in running:
        each.kill()
        each.wait()
        each.stdout.close()


@pytest.fixture
def fake(address):
    made = []

    def connect(*arguments):
        made.append(HttpHost(address(*arguments), patience=0.05, grace=0.0))
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
    {"status": "i", "expect": {"any": True}},
    {"start": {"terminate": "i"}, "as": "c"},
    {"start": {"terminate": "j"}, "as": "d"},
    {"pending": "c"},
    {"restart": True},
    {"await": "d"},
    {"await": "c"},
)


def test_calls_in_flight_are_requests_that_stay_open(fake):
    connection = fake()
    for _ in range(2):
        result = run_scenario(connection, EVERYTHING)
        assert (result.outcome, result.detail, result.differences) == ("passed", "", ())
    assert len(connection._idle) <= 3  # as many as were open at once


def test_what_a_scenario_left_in_flight_is_hung_up_on(fake):
    connection = fake()
    left = scenario({"start": {"terminate": "i"}, "as": "c"})
    for each in (left, left, EVERYTHING):
        assert run_scenario(connection, each).outcome == "passed"
        assert connection._flying.keys() <= {connection._tickets._last - 1}


@pytest.mark.parametrize("wrong", ["slow", "polite"])
def test_what_is_only_odd_is_no_fault(fake, wrong):
    connection = fake(wrong, "create")
    connection.patience = 10
    assert run_scenario(connection, EVERYTHING).detail == ""


def test_a_connection_that_was_idle_for_long_is_not_used_again(fake, monkeypatch):
    connection = fake()
    greet(connection)
    monkeypatch.setattr(http_host, "_IDLE_SECONDS", 0.0)
    (_, idle), *_ = connection._idle
    assert run_scenario(connection, EVERYTHING).outcome == "passed"
    assert idle.sock is None


@pytest.mark.parametrize("op", ["settle", "restart"])
def test_a_hang_is_ended_at_the_deadline(fake, op):
    connection = fake("hang", op)
    greet(connection)
    result = run_scenario(connection, EVERYTHING, deadline=DEADLINE)
    also = " (nor was terminate, terminate before it)"
    assert (result.outcome, result.detail) == ("errored", f"{op} was not answered within 0.5 s{also}")
    with pytest.raises(AdapterFault, match="was given up"):
        connection.send("settle")
    with pytest.raises(AdapterFault, match="was given up"):
        connection.poll(1, 0)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("closed", 'the adapter hung up without an answer to create; send {"ticket": N, "ok": VALUE}'),
        ("half", "the adapter's response to create was cut short: 979 bytes are missing"),
        ("gibberish", "the adapter's response to create is no HTTP: 220 ready"),
        ("garbage", "the adapter sent what is not JSON: '<html>'; send {"),
        (
            "refused",
            "the adapter answered create with HTTP status 500: b'no such thing'; answer 200 in any case",
        ),
        ("other", "the adapter answered ticket 10 to create; repeat the number of the request, 3"),
    ],
)
def test_a_response_that_is_no_answer_is_told_in_one_line(fake, wrong, text):
    connection = fake(wrong, "create")
    result = run_scenario(connection, EVERYTHING)
    assert result.outcome == "errored"
    assert result.detail.startswith(text)
    assert "\n" not in result.detail
    assert connection.broken


def test_a_response_that_never_ends_is_cut_off(fake, monkeypatch):
    monkeypatch.setattr(http_host, "STALL_SECONDS", 0.2)
    monkeypatch.setattr(http_host, "BODY_LIMIT", 10)
    result = run_scenario(fake(), EVERYTHING)
    assert result.detail == "the adapter's response to handshake has more than 10 bytes"


def test_nobody_at_the_address_is_told(address):
    gone = HttpHost(address())
    gone._port = 1
    with pytest.raises(AdapterFault, match=r"nobody answers at http://127.*start the Host there first"):
        greet(gone)
    results = []
    with pytest.raises(AdapterFault):
        run_many(lambda: gone, [EVERYTHING], results.append)
    assert results == []


def test_an_address_may_have_a_path_and_another_host():
    assert http_host.parsed("http://127.0.0.1:80") == ("127.0.0.1", 80, "/")
    assert http_host.parsed("http://[::1]:8080/kit") == ("::1", 8080, "/kit")
