"""Hosts on real time: what is played, what is held against them, and what nobody could have met."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fencepost_conformance.adapter import Handshake
from fencepost_conformance.beside import Moment, tenable
from fencepost_conformance.child import python_child
from fencepost_conformance.generate.at_once import search_at_once
from fencepost_conformance.generate.profiles import Profile
from fencepost_conformance.results import CheckResult
from fencepost_conformance.runner import LONGEST_SECONDS, advanced, missing_instruments, run_scenario
from fencepost_conformance.scenario import Scenario, load, shipped


def sleeping(seconds: int, *schedule: Mapping[str, Any]) -> Scenario:
    document = {
        "title": "t",
        "clauses": ["SLP-2"],
        "programs": {"main": [{"sleep": "s", "seconds": seconds}, {"return": {}}]},
        "schedule": [{"create": "i", "program": "main"}, *schedule],
    }
    return Scenario(f"sleeping-{seconds}", document)


SLEEPS = sleeping(30, {"advance": 1}, {"settle": True}, {"status": "i", "expect": {"status": "sleeping"}})
WAKES = sleeping(
    1, {"advance": 1}, {"settle": True}, {"status": "i", "expect": {"status": "complete", "output": {}}}
)
FAIR = (
    SLEEPS,
    WAKES,
    *map(
        load, ("WFE/restarted-after-a-hand-over", "EVT/accepted-before-any-step", "STP/overlapping-replays")
    ),
)
MISSED = load("WFE/event-at-the-deadline-in-one-breath")
BROKEN = {
    "early": (SLEEPS, "SLP-2", "status is 'complete', 'sleeping' expected"),
    "never_wakes": (WAKES, "SLP-2", "status is 'sleeping', 'complete' expected (not within 1"),
    "loses_events": (load("EVT/every-live-status-accepts"), "EVT-7", "'complete' expected (not within 1"),
    "repeats_effects": (load("STP/overlapping-replays"), "STP-3", "effects of a: 2, expected 1"),
}


def play(host: str, scenario: Scenario) -> CheckResult:
    connection = python_child("real_time_host", host)
    try:
        return run_scenario(connection, scenario)
    finally:
        connection.close()


@pytest.fixture(scope="module")
def played() -> dict[tuple[str, str], CheckResult]:
    """Every scenario of these tests on its Host, all at once."""
    pairs = [(host, each) for host in ("fair", "late") for each in FAIR]
    pairs += [("fair", MISSED), *((host, scenario) for host, (scenario, _, _) in BROKEN.items())]
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(len(pairs)) as threads:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        results = list(threads.map(play, *zip(*pairs, strict=True)))
    return {(host, each.id): result for (host, each), result in zip(pairs, results, strict=True)}


def handshake(*instruments: str) -> Handshake:
    return Handshake("h", "1", frozenset(instruments), 2.0)


def test_only_what_is_short_is_played_and_the_rest_lacks_a_clock():
    host, playable = handshake("journal"), 0
    for each in shipped():
        missing, short = missing_instruments(each, host), advanced(each, host) <= LONGEST_SECONDS
        assert "clock" not in missing if short else "clock" in missing, each.id
        playable += not missing
    assert playable > 150


@pytest.mark.parametrize(
    ("seconds", "holds"),
    [
        (28.2, True),
        (29.2, False),  # a clock as coarse as a second may read 30 s by now
        (30.2, False),
    ],
)
def test_an_expectation_counts_only_as_long_as_the_reference_meets_it(seconds: float, holds: bool):
    times = [0.0, 0.1, seconds, seconds]
    moments = [Moment(entry, at, at + 0.1) for entry, at in zip(SLEEPS.schedule, times, strict=True)]
    assert tenable(SLEEPS, 2.0, moments) is holds


@pytest.mark.parametrize("host", ["fair", "late"])
def test_a_host_in_time_and_one_that_is_late_fail_nothing(
    played: dict[tuple[str, str], CheckResult], host: str
):
    assert {each.id: played[host, each.id].outcome for each in FAIR} == dict.fromkeys(
        [each.id for each in FAIR], "passed"
    )


def test_an_instant_that_was_missed_is_unmeasured(played: dict[tuple[str, str], CheckResult]):
    result = played["fair", MISSED.id]
    assert (result.outcome, result.missing, result.differences) == ("unmeasured", ("clock",), ())
    assert result.detail.startswith("real time went past what schedule[4] is about")


@pytest.mark.parametrize("host", BROKEN)
def test_a_broken_host_is_caught_on_its_clause(played: dict[tuple[str, str], CheckResult], host: str):
    scenario, clause, message = BROKEN[host]
    result = played[host, scenario.id]
    assert (result.outcome, result.differences[0].clause) == ("failed", clause)
    assert message in result.differences[0].message


def test_a_search_finds_nothing_wrong_with_a_fair_host(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    taken: list[str] = []
    found = search_at_once(
        lambda: python_child("real_time_host", "fair"),
        Profile("tests", 4, 5, 2.0),
        3,
        taken.append,
        at_once=4,
    )
    assert found.results == []
    assert (found.coverage.scenarios, len(taken)) == (4, 4)
    assert found.coverage.clauses
