"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import pytest
from fencepost_conformance import judging, scenario
from fencepost_conformance.adapter import PROTOCOL
from fencepost_conformance.generate import profiles
from fencepost_conformance.generate.profiles import Profile
from fencepost_conformance.hosts.reference import ReferenceAdapter
from fencepost_conformance.judging import Verdict
from fencepost_conformance.scenario import Scenario

pytest_plugins = ["pytester"]

PLUGIN = ("-p", "no:fencepost", "-p", "fencepost_conformance.pytest_plugin", "-p", "no:cacheprovider")

PROGRAM = [{"do": "a", "effect": {"value": {}}}, {"return": {"n": 1}}]


def tiny(name: str, clause: str, expected: str, **more: object) -> Scenario:
    document = {
        "format": scenario.FORMAT,
        "title": f"What {name} tries",
        "clauses": [clause],
        "programs": {"main": PROGRAM},
        "schedule": [
            {"create": "i", "program": "main"},
            {"advance": 60},
            {"settle": True},
            {"status": "i", "expect": {"status": expected, "output": {"n": 1}}},
        ],
        **more,
    }
    return Scenario(name, document)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = (tiny("ABI/right", "ABI-3", "complete"), tiny("STP/wrong", "STP-1", "waiting"))
    monkeypatch.setattr(scenario, "shipped", lambda: shipped)
    monkeypatch.setattr(profiles, "PROFILES", {"quick": Profile("quick", 2, 2, 1.0)})


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(*PLUGIN, *arguments)


def test_it_is_inert_unless_asked(pytester: pytest.Pytester, few: None) -> None:
    pytester.makepyfile("def test_own(): pass")
    run(pytester).assert_outcomes(passed=1)


@pytest.mark.usefixtures("few")
def test_checks_are_items_named_by_clause(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "admitted", lambda *each: None)
    result = run(pytester, "--fencepost-host=reference", "-v")
    result.assert_outcomes(passed=2, failed=1)
    text = result.stdout.str()
    assert "ABI-3[ABI/right] PASSED" in text
    assert "generated[quick] PASSED" in text
    assert "STP-1 at schedule[3]" in text
    assert "fencepost replay STP/wrong reference" in text
    assert "Traceback" not in text


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("word", "passed", "failed"),
    [("ABI-3", 1, 0), ("STP-1", 0, 1), ("STP", 0, 1), ("right or generated", 2, 0)],
)
def test_a_keyword_chooses(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, word: str, passed: int, failed: int
) -> None:
    monkeypatch.setattr(judging, "admitted", lambda *each: None)
    result = run(pytester, "--fencepost-host=reference", "-k", word)
    outcomes = result.parseoutcomes()
    assert (outcomes.get("passed", 0), outcomes.get("failed", 0)) == (passed, failed)


@pytest.mark.usefixtures("few")
def test_the_first_failure_stops(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--fencepost-host=reference", "-x")
    result.assert_outcomes(passed=1, failed=1)


@pytest.mark.usefixtures("few")
def test_what_the_host_cannot_do_is_skipped(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = {"name": "bare", "version": "1"}
    greeting = {"protocol": PROTOCOL, "host": host, "instruments": ["journal"], "leaseSeconds": 1}
    monkeypatch.setattr(ReferenceAdapter, "handshake", lambda self, hello: greeting)
    result = run(pytester, "--fencepost-host=reference", "--fencepost-profile=none", "-rs")
    result.assert_outcomes(skipped=2)
    assert "needs clock" in result.stdout.str()


@pytest.mark.usefixtures("few")
def test_a_generated_failure_is_kept(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*each: object) -> Verdict:
        return Verdict(0, "create", "seen", ["possible"], ("BND-3",))

    monkeypatch.setattr(judging, "admitted", refuse)
    result = run(pytester, "--fencepost-host=reference", "-k", "generated")
    result.assert_outcomes(failed=1, deselected=2)
    (kept,) = (pytester.path / "fencepost-failures").iterdir()
    assert f"fencepost replay {kept} reference" in result.stdout.str()


def test_an_unknown_host_is_said_in_one_line(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--fencepost-host=nobody")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "nobody: no such Host" in result.stderr.str()
