"""One report, three renderings: they must agree, survive hostile text, and be readable by machines."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from fencepost_conformance.expected_failures import ExpectedFailure
from fencepost_conformance.report import console, document, html, junit
from fencepost_conformance.report.model import HostFacts, Kit, Report, Selection
from fencepost_conformance.results import CheckResult, Difference
from fencepost_conformance.verdict import judge
from fencepost_spec.schemas import problems
from rich.console import Console

from .test_verdict import CATALOGUE, check

HOSTILE = "\x1b[31mred\x00 \ud800 <&]]> é"


def report(*checks: CheckResult, **changes: Any) -> Report:
    run = judge(CATALOGUE, checks, changes.pop("selected", None))
    made = Report(
        kit=Kit("0.1.0", "0.3.0", "sha256:0", "sha256:1"),
        host=HostFacts("my.adapter:Host", "My Host", "1.2", ("clock", "journal")),
        seed=7,
        selection=Selection(),
        run=run,
        exit_status=1,
        started_at="2030-01-02T03:04:05Z",
        seconds=1.5,
    )
    return replace(made, **changes)


def hostile() -> Report:
    difference = Difference("A-1", "schedule[5]", {"status": "complete"}, {"status": HOSTILE}, HOSTILE)
    return report(
        CheckResult("A/one", "One", ("A-1", "A-2"), "failed", (difference,), seconds=0.25),
        check("passed", "A-2", "A-3", choices={"A-3": "late"}, name="A/two"),
        check("unmeasured", "B-1", missing=("kill",), name="B/one"),
        check("failed", "A-3", blames=("A-3",), name="A/open"),
        host=HostFacts(HOSTILE, HOSTILE, HOSTILE),
        expected=(ExpectedFailure("B-1", "unmeasured", HOSTILE),),
        expected_problems=("A-9 is no clause of the catalogue: remove the entry",),
        reproducers={"A/one": "kept/A-one.json"},
    )


def printed(shown: Report, terminal: bool = False) -> str:
    stream = io.StringIO()
    console.render(shown, Console(file=stream, force_terminal=terminal, width=200, highlight=False))
    return stream.getvalue()


@pytest.mark.parametrize(
    "shown",
    [
        hostile(),
        report(check("passed", "A-1", "A-2", "B-1"), exit_status=0),
        report(check("errored", "A-1"), selection=Selection(("A-*",), (), False), selected=("A-1",)),
    ],
)
def test_the_json_report_fits_its_schema_and_says_last_that_it_is_complete(shown: Report) -> None:
    text = document.render(shown)
    text.encode("ascii")
    read = json.loads(text)
    assert problems("report", read) == []
    assert list(read)[-1] == "complete"
    assert read["complete"] is True


def test_the_json_report_holds_the_verdicts_the_differences_and_what_would_close_a_clause() -> None:
    read = json.loads(document.render(hostile()))
    clauses = {clause["id"]: clause for clause in read["clauses"]}
    assert read["verdict"] == "not-qualified"
    assert read["counts"] == {"failed": 1, "errored": 0, "unmeasured": 1, "passed": 1}
    assert clauses["A-1"]["failures"][0]["seen"] == {"status": HOSTILE}
    assert clauses["B-1"]["closedBy"] == ["kill"]
    assert clauses["A-2"]["checks"][1] == {"scenario": "A/two", "verdict": "passed", "detail": ""}
    assert read["latitudes"] == {"A-3": ["late"]}
    assert clauses["A-3"]["verdict"] is None
    assert read["unattributed"] == ["A/open"]


@pytest.mark.parametrize("foreign", [True, False])
def test_every_rendering_says_of_a_foreign_host_that_it_does_not_claim_the_form(foreign: bool) -> None:
    host = HostFacts("engine", "Engine", "1", foreign=foreign)
    shown = report(check("passed", "A-1", "A-2", "B-1"), host=host)
    assert problems("report", json.loads(document.render(shown))) == []
    for rendered in (document.render(shown), junit.render(shown), printed(shown), html.render(shown, {})):
        assert ("a foreign Host: it does not claim the Form" in rendered) is foreign


def test_junit_has_one_case_for_each_clause_and_counts_what_it_holds() -> None:
    root = ET.fromstring(junit.render(hostile()))
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert set(cases) == {*CATALOGUE.clauses, "A/open"}
    children = {name: [child.tag for child in case] for name, case in cases.items()}
    assert children["A-1"] == ["failure"]
    assert children["A-2"] == []
    assert children["A-3"] == children["B-1"] == ["skipped"]
    assert children["A/open"] == ["error"]
    (skipped,) = cases["B-1"]
    assert skipped.get("message") == "needs kill"
    totals = [root.get(key) for key in ("tests", "failures", "errors", "skipped")]
    assert totals == ["8", "1", "1", "5"]
    assert [int(suite.get("tests", "")) for suite in root] == [3, 3, 1, 1]


def test_the_console_shows_failures_first_with_what_is_needed_to_act_and_the_verdict_alone_last() -> None:
    lines = printed(hostile()).rstrip("\n").split("\n")
    assert lines[0] == "FAILED A-1"
    assert lines[1].strip() == "What A-1 says."
    assert any(line.strip() == 'expected {"status": "complete"}' for line in lines)
    assert any("fencepost replay kept/A-one.json" in line for line in lines)
    assert any(line.strip() == "needs kill: B-1" for line in lines)
    assert any(line.split() == ["A-3", "late"] for line in lines)
    assert any(line.split() == ["seed", "7"] for line in lines)
    assert lines[-1] == "not-qualified"


def test_piped_text_has_no_escape_sequence_and_hostile_text_is_escaped_everywhere() -> None:
    for text in (printed(hostile()), junit.render(hostile())):
        assert "\x1b" not in text
        assert "\x00" not in text
        text.encode("utf-8")
    assert "\x1b[" in printed(report(check("failed", "A-1")), terminal=True)


def test_a_selection_says_so_in_the_verdict() -> None:
    shown = report(check("passed", "A-1"), selected=("A-1",), selection=Selection(("A-1",)))
    assert printed(shown).rstrip("\n").split("\n")[-1] == "qualified (selection: A-1)"


def test_a_known_failure_is_still_a_failure_and_shows_its_reason() -> None:
    shown = report(check("failed", "A-1"), expected=(ExpectedFailure("A-1", "failed", "being mended"),))
    assert printed(shown).startswith("FAILED A-1 (expected: being mended)")
