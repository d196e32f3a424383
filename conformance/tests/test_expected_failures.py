"""Expected failures change the exit status, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fencepost_conformance.expected_failures import (
    BadExpectedFailures,
    ExpectedFailure,
    exit_status,
    load,
    problems,
)

from .test_verdict import CATALOGUE, ERROR, FAIL, PASS, UNMEASURED, check, judged

BOTH = check("passed", "A-1", "A-2")
OTHER = check("passed", "A-2")


def expect(clause: str, verdict: Any) -> ExpectedFailure:
    return ExpectedFailure(clause, verdict, "known")


@pytest.mark.parametrize(
    ("checks", "expected", "status"),
    [
        ((BOTH,), (), 0),
        ((FAIL, OTHER), (), 1),
        ((UNMEASURED, OTHER), (), 3),
        ((ERROR, OTHER), (), 3),
        ((FAIL, OTHER), (expect("A-1", "failed"),), 0),
        ((UNMEASURED, OTHER), (expect("A-1", "unmeasured"),), 0),
        ((FAIL, UNMEASURED), (expect("A-1", "failed"),), 3),
        ((FAIL, OTHER), (expect("A-1", "unmeasured"),), 1),
        ((BOTH,), (expect("A-1", "failed"),), 1),
        ((ERROR, OTHER), (expect("A-1", "failed"),), 1),
        ((BOTH,), (expect("Z-9", "failed"),), 1),
        ((BOTH,), (expect("A-3", "failed"),), 1),
        ((BOTH,), (expect("B-1", "failed"),), 0),
    ],
)
def test_the_exit_status(checks: Any, expected: Any, status: int) -> None:
    run = judged(*checks)
    assert exit_status(CATALOGUE, run, expected) == status
    assert run.verdict == judged(*checks).verdict


def test_an_unattributed_failure_cannot_be_expected_away() -> None:
    run = judged(BOTH, check("failed", "A-3", blames=("A-3",)))
    assert exit_status(CATALOGUE, run) == 3


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (expect("Z-9", "failed"), "Z-9 is no clause"),
        (expect("A-3", "failed"), "A-3 is open and has no verdict"),
        (expect("A-1", "failed"), "A-1 is expected to be failed, but it passed"),
    ],
)
def test_each_problem_is_one_line_that_names_the_clause(entry: ExpectedFailure, words: str) -> None:
    (line,) = problems(CATALOGUE, judged(PASS, OTHER), (entry,))
    assert words in line
    assert "\n" not in line


ENTRY = 'clause = "A-1"\nverdict = "failed"\nreason = "known"\n'


def test_the_file_may_be_toml_or_json(tmp_path: Path) -> None:
    toml, json = tmp_path / "known.toml", tmp_path / "known.json"
    toml.write_text(f"[[expected]]\n{ENTRY}")
    json.write_text('{"expected": [{"clause": "A-1", "verdict": "failed", "reason": "known"}]}')
    assert load(toml) == load(json) == (expect("A-1", "failed"),)


def test_clauses_may_share_an_entry(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text("[[expected]]\n" + ENTRY.replace('"A-1"', '["A-1", "A-2"]'))
    assert load(path) == (expect("A-1", "failed"), expect("A-2", "failed"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[expected", "neither TOML nor JSON"),
        ("other = 1", "a list named 'expected'"),
        ('[[expected]]\nclause = "A-1"', "exactly the keys"),
        (f"[[expected]]\n{ENTRY}[[expected]]\n{ENTRY}", "twice"),
        ("[[expected]]\n" + ENTRY.replace("failed", "errored"), "'failed' or 'unmeasured'"),
        ("[[expected]]\n" + ENTRY.replace('"known"', '" "'), "not empty"),
        ("[[expected]]\n" + ENTRY.replace('"A-1"', "[]"), "not empty"),
        ("[[expected]]\n" + ENTRY.replace('"A-1"', '["A-1", "A-1"]'), "twice"),
    ],
)
def test_a_malformed_file_is_refused_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(BadExpectedFailures, match=words) as caught:
        load(path)
    assert str(path) in str(caught.value)
