"""Scenarios that generation found to be judged wrongly, or the reference to get wrong, each as it was reduced.

All of them hold on the reference, by the judge that is shipped.
"""

from __future__ import annotations

from typing import Any

import pytest
from fencepost_conformance.hosts import resolve
from fencepost_conformance.runner import run_scenario
from fencepost_conformance.scenario import FORMAT, Scenario

DO = [{"do": "a1", "effect": {"value": {}}}]
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
}


@pytest.mark.parametrize("name", FINDINGS)
def test_what_was_found_holds(name: str) -> None:
    program, schedule = FINDINGS[name]
    document = {
        "format": FORMAT,
        "title": name,
        "judged": True,
        "clauses": ["GRT-8"],
        "programs": {"p1": program},
        "schedule": schedule,
    }
    result = run_scenario(resolve("reference")(), Scenario("finding", document))
    assert (result.outcome, result.differences) == ("passed", ())
