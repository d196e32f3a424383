"""Questions to the reference, and shipped scenarios replayed by id, on the real machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fencepost_conformance.cli import application
from fencepost_spec import catalogue

TIE: dict[str, Any] = {
    "format": "fencepost.scenario@1",
    "title": "What happens when an event arrives at the very instant of the timeout?",
    "clauses": ["WFE-5"],
    "programs": {
        "main": [
            {"do": "a", "effect": {"value": {"n": 1}}},
            {"wait": "w", "type": "go", "timeoutSeconds": 5, "as": "p"},
            {"return": {"got": {"$": "p.k"}}},
        ]
    },
    "schedule": [
        {"create": "i", "program": "main"},
        {"settle": True},
        {"advance": 5},
        {"sendEvent": "i", "type": "go", "payload": {"k": 1}},
        {"settle": True},
        {"status": "i", "expect": {"status": "complete", "output": {"got": 1}}},
    ],
}


def fencepost(*arguments: str | Path) -> Result:
    return CliRunner().invoke(application, [str(each) for each in arguments], prog_name="fencepost")


@pytest.fixture
def tie(tmp_path: Path) -> Path:
    path = tmp_path / "tie.json"
    path.write_text(json.dumps(TIE))
    return path


def test_the_timeline_has_instants_effects_statuses_and_the_clauses_behind_each_move(tie: Path) -> None:
    rows = json.loads(fencepost("ask", tie, "--json").stdout)
    (event,) = (row for row in rows if row["what"].startswith("SendEvent"))
    assert event["at"] == 5
    assert "WFE-5" in event["clauses"]
    assert rows[-1]["status"] == "complete"
    what = [row["what"] for row in rows]
    assert what.index('the effect of "a" begins') < what.index('the effect of "a" ends')
    assert what.index("advance 5000") < what.index(event["what"])
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
    assert {clause for row in rows for clause in row["clauses"]} <= set(catalogue.load().clauses)


def test_the_answer_is_readable_and_its_last_line_says_whether_the_expectations_held(tie: Path) -> None:
    result = fencepost("ask", tie)
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "WFE-5" in result.stdout
    assert result.stdout.rstrip("\n").split("\n")[-1] == "passed"


def test_a_question_may_be_about_one_instance(tie: Path) -> None:
    rows = json.loads(fencepost("ask", tie, "--json", "--instance", "other").stdout)
    assert {row["instance"] for row in rows} == {""}


def test_an_expectation_that_does_not_hold_is_named_with_both_sides(tmp_path: Path) -> None:
    document = json.loads(json.dumps(TIE))
    document["schedule"][-1]["expect"]["output"] = {"got": 2}
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(document))
    for command in ("ask", "replay"):
        result = fencepost(command, path)
        assert result.exit_code == 1
        assert "schedule[5] WFE-5: the output is another one" in result.stdout
        assert '"got": 2' in result.stdout
        assert '"got": 1' in result.stdout


def test_check_and_replay_know_shipped_scenarios(tmp_path: Path) -> None:
    scenario = "WFE/event-at-the-deadline-wins"
    assert fencepost("replay", scenario).exit_code == 0
    report = tmp_path / "report.json"
    assert fencepost("check", "--scenario", scenario, "--json", report).exit_code == 0
    assert json.loads(report.read_text())["host"]["instruments"]
