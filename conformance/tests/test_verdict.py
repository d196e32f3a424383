"""The policy of verdicts, row by row."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fencepost_conformance.results import CheckResult, Difference
from fencepost_conformance.verdict import NothingChecked, RunRecord, judge
from fencepost_spec.catalogue import Clause

STRENGTHS = {
    "A-1": "required",
    "A-2": "derived",
    "A-3": "open",
    "B-1": "required",
    "B-2": "exclusion",
    "B-3": "required",
    "GRT-1": "reference",
}


def clause(name: str, strength: str) -> Clause:
    return Clause(
        id=name,
        chapter=name.split("-")[0],
        strength=strength,  # type: ignore[arg-type]
        statement=f"What {name} says.",
        argument=None,
        choices=(),
        reference=None,
        source=(),
        unobservable="nothing shows it" if name == "B-3" else None,
    )


CATALOGUE: Any = SimpleNamespace(
    clauses={name: clause(name, strength) for name, strength in STRENGTHS.items()},
    version="0.3.0",
    digest="d",
)


def check(
    outcome: Any,
    *clauses: str,
    blames: tuple[str, ...] = (),
    missing: tuple[str, ...] = (),
    choices: dict[str, str] | None = None,
    name: str = "s",
) -> CheckResult:
    differences = tuple(Difference(each, "schedule[0]", 1, 2, "one is not two") for each in blames)
    return CheckResult(
        scenario=name,
        title=name,
        clauses=clauses,
        outcome=outcome,
        differences=differences,
        missing=missing,
        choices=choices or {},
    )


def judged(*checks: CheckResult, selection: Any = ("A-1", "A-2")) -> RunRecord:
    return judge(CATALOGUE, checks, selection)


def verdicts(run: RunRecord) -> dict[str, str | None]:
    return {record.clause.id: record.verdict for record in run.clauses}


PASS, FAIL = check("passed", "A-1"), check("failed", "A-1", blames=("A-1",))
ERROR, UNMEASURED = check("errored", "A-1"), check("unmeasured", "A-1", missing=("kill",))


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [
        ((PASS,), "passed"),
        ((FAIL,), "failed"),
        ((ERROR,), "errored"),
        ((UNMEASURED,), "unmeasured"),
        ((PASS, FAIL), "failed"),
        ((FAIL, ERROR), "failed"),
        ((FAIL, UNMEASURED), "failed"),
        ((PASS, ERROR), "errored"),
        ((ERROR, UNMEASURED), "errored"),
        ((PASS, UNMEASURED), "passed"),
        ((check("passed", "A-2"),), "unmeasured"),
    ],
)
def test_the_verdict_of_a_clause_is_the_first_row_that_holds(
    checks: tuple[CheckResult, ...], verdict: str
) -> None:
    for order in (checks, checks[::-1]):
        assert verdicts(judged(*order))["A-1"] == verdict


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [
        ((check("passed", "A-1", "A-2"),), "qualified"),
        ((check("passed", "A-1", "A-2"), FAIL), "not-qualified"),
        ((PASS,), "incomplete"),
        ((PASS, check("errored", "A-2")), "incomplete"),
        ((FAIL, check("errored", "A-2")), "not-qualified"),
        ((FAIL, check("unmeasured", "A-2")), "not-qualified"),
    ],
)
def test_the_verdict_of_a_run_is_the_first_row_that_holds(
    checks: tuple[CheckResult, ...], verdict: str
) -> None:
    assert judged(*checks).verdict == verdict


def test_a_run_of_no_check_is_no_run() -> None:
    with pytest.raises(NothingChecked):
        judged()


def test_a_failed_check_blames_what_its_differences_name_and_gives_its_other_clauses_nothing() -> None:
    run = judged(check("failed", "A-1", "A-2", blames=("A-2",)))
    assert verdicts(run) == {"A-1": "unmeasured", "A-2": "failed"}
    run = judged(check("failed", "A-1", "A-2", blames=("A-2",)), PASS)
    assert verdicts(run) == {"A-1": "passed", "A-2": "failed"}


def test_a_failed_check_that_names_no_difference_blames_the_first_of_its_clauses() -> None:
    assert verdicts(judged(check("failed", "A-1", "A-2")))["A-1"] == "failed"


def test_a_clause_outside_of_the_selection_that_was_seen_to_fail_is_not_hidden() -> None:
    run = judged(PASS, check("failed", "A-1", blames=("B-1",)), selection=("A-1",))
    assert verdicts(run) == {"A-1": "passed", "B-1": "failed"}
    assert run.verdict == "not-qualified"


def test_open_excluded_unobservable_and_reference_clauses_have_no_verdict_whatever_was_seen() -> None:
    names = ("A-3", "B-2", "B-3", "GRT-1")
    run = judge(CATALOGUE, [check("passed", "A-1", "A-2", "B-1", *names)])
    assert {name: verdicts(run)[name] for name in names} == dict.fromkeys(names)
    assert {record.clause.id: record.standing for record in run.clauses if record.verdict is None} == {
        "A-3": "open",
        "B-2": "exclusion",
        "B-3": "unobservable",
        "GRT-1": "reference",
    }
    assert run.verdict == "qualified"
    assert run.counts == {"failed": 0, "errored": 0, "unmeasured": 0, "passed": 3}


@pytest.mark.parametrize(
    ("blamed", "verdict"), [("A-3", "incomplete"), ("B-3", "incomplete"), ("GRT-1", "qualified")]
)
def test_a_failed_check_that_can_fail_nobody_qualifies_nobody_except_for_promises_of_the_reference(
    blamed: str, verdict: str
) -> None:
    run = judged(check("passed", "A-1", "A-2"), check("failed", blamed, blames=(blamed,)))
    assert run.verdict == verdict
    assert bool(run.unattributed) == (verdict == "incomplete")


def test_a_selection_without_a_judged_clause_is_incomplete() -> None:
    assert judged(check("passed", "A-3"), selection=("A-3",)).verdict == "incomplete"


def test_unmeasured_clauses_name_the_fewest_instruments_that_would_close_them() -> None:
    run = judged(
        check("unmeasured", "A-1", missing=("stuck", "kill")),
        check("unmeasured", "A-1", missing=("pause",)),
        check("unmeasured", "A-2", missing=("stuck", "kill")),
    )
    assert [record.closed_by for record in run.clauses] == [("pause",), ("kill", "stuck")]


def test_open_clauses_record_each_choice_with_the_scenarios_that_showed_it() -> None:
    run = judge(
        CATALOGUE,
        [
            check("passed", "A-1", choices={"A-3": "late"}, name="one"),
            check("passed", "A-3", choices={"A-3": "early"}, name="two"),
            check("passed", "A-3", choices={"A-3": "late"}, name="three"),
        ],
    )
    (record,) = (record for record in run.clauses if record.clause.id == "A-3")
    assert record.choices == {"early": ("two",), "late": ("one", "three")}


def test_a_check_of_an_unknown_clause_is_a_fault_of_the_kit() -> None:
    with pytest.raises(KeyError, match="A-99"):
        judged(check("passed", "A-99"))
