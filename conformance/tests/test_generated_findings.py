"""Scenarios in which generation found the judge or the reference to be wrong, each as it was reduced.

All of them hold on the reference, or on the fair Host that they name, by the judge that is shipped.
"""

from __future__ import annotations

from typing import Any

import pytest
from fencepost_conformance import judging
from fencepost_conformance.adapter import Answer
from fencepost_conformance.hosts import resolve
from fencepost_conformance.observations import Observation
from fencepost_conformance.runner import greet, run_scenario
from fencepost_conformance.scenario import FORMAT, Scenario

DO = [{"do": "a1", "effect": {"value": {}}}]
STANDING = [{"do": "a1", "effect": {"gate": "g", "then": {"undefined": True}}}]
WAIT = [{"wait": "a1", "type": "stop", "timeoutSeconds": 60}]

FINDINGS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "an owner that was frozen at the start of its effect does not begin it again": (
        DO,
        [
            {"pause": "i", "at": "effect-start:a1"},
            {"create": "i", "program": "p1"},
            {"settle": True},
            {"sendEvent": "i", "type": "go"},
            {"resume": "i"},
            {"settle": True},
        ],
    ),
    "a stuck owner hears of its event although it is to be killed then": (
        WAIT,
        [
            {"kill": "i", "at": "consumed:a1"},
            {"create": "i", "program": "p1"},
            {"status": "i"},
            {"stuck": "i"},
            {"sendEvent": "i", "type": "stop"},
            {"settle": True},
            {"unstuck": "i"},
            {"settle": True},
            {"status": "i"},
        ],
    ),
    "a report that one trap held back is not caught by another": (
        WAIT,
        [
            {"create": "i", "program": "p1"},
            {"pause": "i", "at": "settled"},
            {"pause": "i", "at": "settled"},
            {"sendEvent": "i", "type": "stop"},
            {"resume": "i"},
            {"settle": True},
            {"status": "i"},
        ],
    ),
    "an owner that is caught as it hears of its timeout has not gone on": (
        [
            {
                "try": [{"wait": "a1", "type": "go", "timeoutSeconds": 5}],
                "handler": [{"mark": "m"}],
            }
        ],
        [
            {"create": "i", "program": "p1"},
            {"settle": True},
            {"pause": "i", "at": "consumed:a1"},
            {"recover": True},
            {"resume": "i"},
            {"settle": True},
            {"status": "i"},
        ],
    ),
    "an owner past its lifetime, whose end is not processed, may lose its lease": (
        STANDING,
        [
            {"holdWakes": True},
            {"create": "i", "program": "p1"},
            {"advance": 31536000},
            {"settle": True},
            {"recover": True},
            {"status": "i"},
        ],
    ),
}


FAIR: dict[str, tuple[str, list[dict[str, Any]], list[dict[str, Any]]]] = {
    "an owner that parks in the middle of a turn comes by the trap that waits there": (
        "latitude:park_after=at-once",
        [{"race": [{"sleep": "a1", "seconds": 1}, {"wait": "a1", "type": "go", "timeoutSeconds": 60}]}],
        [
            {"pause": "i", "at": "parked:a1"},
            {"create": "i", "program": "p1"},
            {"settle": True},
            {"status": "i"},
            {"resume": "i"},
            {"settle": True},
            {"status": "i"},
        ],
    ),
    "a context that was lost at its first call has finished its turn, and the next one parks at the call": (
        "latitude:park_after=at-once,extra_contexts=more",
        [{"try": [{"unawaited": {"sleep": "c1", "seconds": 172800}}], "finally": [{"mark": "m"}]}],
        [{"create": "i", "program": "p1"}, {"status": "i"}, {"settle": True}],
    ),
}


@pytest.mark.parametrize("name", [*FINDINGS, *FAIR])
def test_what_was_found_holds(name: str) -> None:
    host, program, schedule = FAIR[name] if name in FAIR else ("reference", *FINDINGS[name])
    document = {
        "format": FORMAT,
        "title": name,
        "judged": True,
        "clauses": ["GRT-8"],
        "programs": {"p1": program},
        "schedule": schedule,
    }
    result = run_scenario(resolve(host)(), Scenario("finding", document))
    assert (result.outcome, result.differences) == ("passed", ())


def test_an_owner_killed_at_a_commit_has_not_gone_on() -> None:
    """The next context takes the other Version, which would wait if the killed one had come to its wait."""
    failing = [{"throw": "again"}, {"throw": "again"}, {"value": {}}]
    retry = {"maxAttempts": 3, "initialDelaySeconds": 43200}
    document = {
        "format": FORMAT,
        "title": "Killed at a commit",
        "judged": True,
        "clauses": ["DO-6"],
        "versions": {"v1": {}, "v2": {"p1": "p2"}},
        "deployed": "v1",
        "programs": {
            "p1": [{"do": "a1", "effect": {"attempts": failing}, "retry": retry}],
            "p2": [{"do": "a3", "effect": {"value": {}}}, {"wait": "a4", "type": "go", "timeoutSeconds": 60}],
        },
        "schedule": [
            {"create": "i", "program": "p1"},
            {"kill": "i", "at": "committed:a3"},
            {"deploy": {"v1": 5000, "v2": 5000}},
            {"advance": 43201},
            {"settle": True},
        ],
    }
    result = run_scenario(resolve("reference")(), Scenario("finding", document))
    assert (result.outcome, result.differences) == ("passed", ())


MISMATCH = {"status": "errored", "error": {"reason": "step_definition_mismatch"}}


def ran(runs: int, **effects: int) -> dict[str, Any]:
    """What the journal of an instance counted."""
    return {"effects": effects, "runs": {"i": runs}, "marks": {}}


OTHER_HOSTS: dict[str, tuple[list[dict[str, Any]], list[tuple[dict[str, Any], Any]]]] = {
    "a context that starts only after the clock was moved reckons from then": (
        [{"wait": "a1", "type": "go", "timeoutSeconds": 60}, {"return": {}}],
        [
            ({"create": "i", "program": "p1"}, "i"),
            ({"status": "i"}, {"status": "queued"}),
            ({"advance": 31}, None),
            ({"settle": True}, ran(1)),
            ({"status": "i"}, {"status": "waiting"}),
            ({"advance": 30}, None),
            ({"settle": True}, ran(1)),
            ({"status": "i"}, {"status": "waiting"}),
        ],
    ),
    "the success of a sleep is recorded by the call in the new context": (
        [
            {"wait": "x", "type": "go", "timeoutSeconds": 0, "catch": "e"},
            {"sleep": "x", "seconds": 5},
            {"return": {}},
        ],
        [
            ({"create": "i", "program": "p1"}, "i"),
            ({"status": "i"}, {"status": "queued"}),
            ({"settle": True}, ran(1)),
            ({"advance": 6}, None),
            ({"settle": True}, ran(2)),
            ({"status": "i"}, MISMATCH),
        ],
    ),
    "a restart loses the owner whose stop cannot be proven, and another begins its attempt again": (
        [{"do": "a2", "effect": {"gate": "g", "then": {"value": {"n": 1}}}}],
        [
            ({"stuck": "i"}, None),
            ({"create": "i", "program": "p1"}, "i"),
            ({"settle": True}, ran(1, a2=1)),
            ({"restart": True}, None),
            ({"settle": True}, ran(2, a2=2)),
        ],
    ),
    "a restart leaves the owner whose stop cannot be proven": (
        [{"do": "a2", "effect": {"gate": "g", "then": {"value": {"n": 1}}}}],
        [
            ({"stuck": "i"}, None),
            ({"create": "i", "program": "p1"}, "i"),
            ({"settle": True}, ran(1, a2=1)),
            ({"restart": True}, None),
            ({"settle": True}, ran(1, a2=1)),
        ],
    ),
    "a restart proves the stop that nothing else could": (
        [{"sleep": "a1", "seconds": 1}, {"sleep": "a2", "seconds": 31_536_000}],
        [
            ({"stuck": "i"}, None),
            ({"create": "i", "program": "p1"}, "i"),
            ({"settle": True}, ran(1)),
            ({"advance": 2}, None),
            ({"settle": True}, ran(2)),
            ({"status": "i"}, {"status": "running"}),
            ({"restart": True}, None),
            ({"settle": True}, ran(2)),
            ({"status": "i"}, {"status": "sleeping"}),
        ],
    ),
    "a restart comes when an outcome is committed, and its code has not heard of it": (
        [
            {"do": "b1", "effect": {"value": {"n": 1}}},
            {"wait": "b2", "type": "go", "timeoutSeconds": 5},
            {"return": {}},
        ],
        [
            ({"pause": "i", "at": "effect-end:b1"}, None),
            ({"create": "i", "program": "p1"}, "i"),
            ({"settle": True}, ran(1, b1=1)),
            ({"resume": "i"}, None),
            ({"restart": True}, None),
            ({"advance": 6}, None),
            ({"settle": True}, ran(2, b1=1)),
            ({"status": "i"}, {"status": "waiting"}),
        ],
    ),
    "what a lost owner had begun is begun again by a new context": (
        [{"unawaited": {"sleep": "c1", "seconds": 172800}}, {"throw": "after"}],
        [
            ({"pause": "i", "at": "settled"}, None),
            ({"create": "i", "program": "p1"}, "i"),
            ({"settle": True}, ran(1)),
            ({"status": "i"}, {"status": "running"}),
            ({"recover": True}, ran(2)),
            ({"resume": "i"}, None),
            ({"settle": True}, ran(2)),
            ({"status": "i"}, MISMATCH),
        ],
    ),
}


@pytest.mark.parametrize("name", OTHER_HOSTS)
def test_what_other_hosts_may_show_is_admitted(name: str) -> None:
    """Observations of Hosts that read the same sentences otherwise than the reference, and as well."""
    program, lines = OTHER_HOSTS[name]
    schedule = [entry for entry, _ in lines]
    document = {"format": FORMAT, "title": name, "judged": True, "clauses": [], "schedule": schedule}
    scenario = Scenario("finding", {**document, "programs": {"p1": program}})
    observations = [
        Observation(index, next(iter(entry)), shown if "runs" in shown else Answer(shown))
        for index, (entry, shown) in enumerate(lines)
        if shown is not None
    ]
    assert judging.admitted(scenario, observations, greet(resolve("reference")())) is None
