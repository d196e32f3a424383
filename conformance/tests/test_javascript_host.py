"""The Host in JavaScript, written from the clauses alone, and each of its faults, through the wire.

Every fault is a change of a line or two of the same Host. It has to fail the scenario that is named beside
it, blamed on the clause that it breaks; the unchanged Host has to pass all of these scenarios.
"""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fencepost.contexts.node_tools import NodeMissing, node
from fencepost_conformance import hosts
from fencepost_conformance.results import CheckResult
from fencepost_conformance.runner import run_many
from fencepost_conformance.scenario import load
from fencepost_conformance.verdict import standing
from fencepost_spec import catalogue

FOLDER = Path(__file__).parents[2] / "examples" / "javascript-host"
ENOUGH = 25


def listed() -> list[dict[str, str]]:
    """The faults as the Host lists them; none where there is no Node."""
    try:
        program = node()
    except NodeMissing:
        return []
    answer = subprocess.run([program, FOLDER / "faults.mjs"], capture_output=True, text=True, check=True)
    faults: list[dict[str, str]] = json.loads(answer.stdout)
    return faults


FAULTS = listed()

pytestmark = pytest.mark.skipif(not FAULTS, reason="JavaScript needs Node: pip install 'fencepost[js]'")


def run(scenarios: Sequence[str], *options: str) -> list[CheckResult]:
    command = " ".join(["cmd:node", str(FOLDER / "host.mjs"), *options])
    return run_many(hosts.resolve(command), [load(each) for each in scenarios])


def blamed(result: CheckResult) -> set[str]:
    return {difference.clause for difference in result.differences}


def test_the_host_passes_every_scenario_that_a_fault_of_it_fails() -> None:
    results = run(sorted({fault["scenario"] for fault in FAULTS}))
    assert [(each.scenario, each.outcome) for each in results if each.outcome != "passed"] == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault["name"])
def test_a_fault_is_caught_and_blamed_on_the_clause_that_it_breaks(fault: dict[str, Any]) -> None:
    [result] = run([fault["scenario"]], "--fault", fault["name"])
    assert result.outcome == "failed", result.detail
    assert fault["clause"] in blamed(result)


def test_there_are_faults_enough_and_each_breaks_a_clause_that_is_judged() -> None:
    clauses = catalogue.load().clauses
    assert len(FAULTS) >= ENOUGH
    assert all(standing(clauses[fault["clause"]]) == "judged" for fault in FAULTS)
    assert len({fault["name"] for fault in FAULTS}) == len(FAULTS)


def test_a_fault_that_is_not_there_says_where_they_are_listed() -> None:
    command = [str(node()), str(FOLDER / "host.mjs"), "--fault", "none"]
    answer = subprocess.run(command, capture_output=True, text=True, input="", check=False)
    assert answer.returncode != 0
    assert "there is no fault none; 'node faults.mjs' lists them" in answer.stderr
