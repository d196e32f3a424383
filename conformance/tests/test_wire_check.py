"""The check of an adapter: it finds nothing in a sound one, and says of a broken one which side was wrong."""

import json

import pytest
from click.testing import CliRunner
from fencepost_conformance import adapter_check, run
from fencepost_conformance.adapter import INSTRUMENTS, PROTOCOL, Handshake
from fencepost_conformance.adapter_check import check
from fencepost_conformance.cli.application import application
from fencepost_conformance.hosts.reference import ReferenceAdapter
from fencepost_conformance.inprocess import InProcess
from fencepost_conformance.journal import Journal
from fencepost_conformance.walk import STATIONS


def found(make):
    """The findings by station."""
    visits = check(lambda watch: watch(InProcess(make())))
    return {
        each.name: [str(line) for line in each.findings] for each in visits if not isinstance(each, Handshake)
    }


def without(*methods):
    """The reference, except that these methods do nothing."""

    def nothing(self, *arguments, **named):
        return None

    return type("Idle", (ReferenceAdapter,), dict.fromkeys(methods, nothing))


class Deaf(ReferenceAdapter):
    def begin(self, setup):
        super().begin(type(setup)(setup.token, setup.versions, setup.deployed, Journal(), setup.uses))


class Unbound(ReferenceAdapter):
    def begin(self, setup):
        super().begin(type(setup)(setup.token, setup.versions, setup.deployed, setup.journal))


def test_the_reference_keeps_to_the_protocol_at_every_station():
    assert found(ReferenceAdapter) == {name: [] for name in ("handshake", *(each.name for each in STATIONS))}


def test_there_is_a_station_for_every_instrument():
    assert [each.instrument for each in STATIONS if each.instrument] == list(INSTRUMENTS)


@pytest.mark.parametrize(
    ("make", "station", "line"),
    [
        (without("advance"), "clock", "Host: status i: status is 'sleeping', 'complete' expected"),
        (Deaf, "journal", "Host: effects: effects of held: 0, expected 1"),
        (without("kill"), "kill", "Host: effects: effects of held: 1, expected {'atLeast': 2}"),
        (without("backend"), "backend", "Host: status i: succeeded, a rejection expected"),
        (without("hold_wakes"), "wakes", "Host: status i: status is 'complete', 'sleeping' expected"),
        (without("drop_response"), "responses", "Host: get i: rejected with unknown_instance, success"),
        (without("deploy"), "versions", 'Host: status i: the output is another one: expected {"status"'),
        (without("unbind"), "resource", "Host: deleteResource: status is 409 dependency_conflict"),
        (
            without("resource"),
            "resource",
            "adapter: resource: answer.ok: must be an answer of the management",
        ),
        (
            without("resources"),
            "resource",
            "adapter: resources: answer.ok: must be an object with a UID by each",
        ),
        (Unbound, "binding", "Host: status i: status is 'errored', 'terminated' expected"),
        (without("create"), "calls", "adapter: create: answer.ok: must be the id, a string, not null"),
        (
            without("status"),
            "calls",
            "adapter: status: answer.ok: must be the status answer, an object, not null",
        ),
    ],
)
def test_an_instrument_that_does_nothing_is_found(make, station, line):
    seen = found(make)[station]
    assert any(each.startswith(line) for each in seen), seen


class Wordy(ReferenceAdapter):
    def status(self, id):
        return super().status(id) | {"status": "finished"}

    def end(self):
        return {"unsprung": "none"}


def test_each_wrong_shape_is_told_once_and_the_walk_goes_on():
    seen = found(Wordy)
    assert 'adapter: end: answer.ok.unsprung: must be a list, not "none"' in seen["calls"]
    assert sum("answer.ok.status: must be one of queued" in each for each in seen["calls"]) == 1
    assert seen.keys() >= {each.name for each in STATIONS}


def test_a_request_that_does_not_fit_is_the_fault_of_the_kit(monkeypatch):
    monkeypatch.setattr(run, "_milliseconds", lambda seconds: 1.5)
    assert found(ReferenceAdapter)["clock"][0] == "kit: advance: milliseconds: must be an integer, not 1.5"


class Failing(ReferenceAdapter):
    def settle(self):
        raise RuntimeError("not\n today")


def test_an_adapter_that_only_breaks_down_is_left_alone():
    assert list(found(Failing).items())[1:] == [
        (name, ["adapter: settle raised RuntimeError: not today"]) for name in ("calls", "clock", "journal")
    ]


class Rude:
    def handshake(self, hello):
        return {"protocol": PROTOCOL, "host": "me"}


def test_a_wrong_handshake_ends_the_walk():
    assert found(Rude) == {"handshake": ['adapter: handshake: answer.ok.host: must be an object, not "me"']}


class Unhurried(ReferenceAdapter):
    """Has a clock of its own, which goes on when it is looked at."""

    looks = 0

    def handshake(self, hello):
        return super().handshake(hello) | {"instruments": ["journal", "kill", "restart"]}

    def status(self, id):
        type(self).looks += 1
        if self.looks % 3 == 0:
            self.settle()
        return super().status(id)


def test_a_host_without_a_clock_is_given_time():
    assert found(Unhurried) == {name: [] for name in ("handshake", "calls", "journal", "kill", "restart")}


class Stubborn(Unhurried):
    def status(self, id):
        return super().status(id) | {"status": "queued"}


def test_but_not_for_ever(monkeypatch):
    monkeypatch.setattr(adapter_check, "LOOK_SECONDS", 0.1)
    assert "Host: status i: status is 'queued', 'complete' expected" in found(Stubborn)["calls"]


def fencepost(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(application, ["check", "--check-adapter", *arguments])


def test_the_command_prints_a_line_for_each_station():
    result = fencepost("reference")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "handshake   ok"
    assert "not offered nothing" in result.stdout
    assert [line.split()[0] for line in result.stdout.splitlines()[3:]] == [each.name for each in STATIONS]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--seed", "1"], "fencepost: --check-adapter takes nothing but a HOST; leave the other options out"),
        (["refrence"], "fencepost: refrence: no such Host; give reference"),
    ],
)
def test_wrong_use_is_told_in_one_line(arguments, line):
    result = fencepost(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(line)
    assert result.stderr.count("\n") == 1


def test_messages_that_were_checked_are_json():
    findings = []
    checked = adapter_check.Checked(InProcess(ReferenceAdapter()), findings)
    ticket = checked.send("handshake", hello={"protocol": PROTOCOL, "kit": "fencepost"})
    assert json.loads(json.dumps(checked._requests[ticket]))["op"] == "handshake"
    assert checked.poll(ticket, 0).error is None
    assert findings == []
