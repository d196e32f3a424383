"""The suite of guarantees: its scenarios, its verdict, and the faulty hosts that it must catch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fencepost_conformance import scenario as scenarios
from fencepost_conformance import verdict
from fencepost_conformance.adapter import Connection
from fencepost_conformance.cli import application
from fencepost_conformance.faults import promises
from fencepost_conformance.hosts import latitude, resolve
from fencepost_conformance.hosts.reference import ReferenceAdapter
from fencepost_conformance.inprocess import InProcess
from fencepost_conformance.runner import run_many, run_scenario
from fencepost_conformance.scenario import Scenario
from fencepost_conformance.selftest import Scope, blamed_clauses, kill
from fencepost_spec import catalogue
from fencepost_spec.schemas import problems

SUITE = scenarios.shipped("guarantees")
GUARANTEES = tuple(each.id for each in catalogue.load().of_strength("reference"))
DIRECTED = Scope("directed", 0, False, 0, 0)


def check(*arguments: str) -> Any:
    return CliRunner().invoke(application, ["check", *arguments])


def test_every_guarantee_is_measured_and_nothing_else_is() -> None:
    assert tuple(f"GRT-{n}" for n in range(1, 12)) == GUARANTEES
    assert {clause for each in SUITE for clause in each.clauses} == set(GUARANTEES)
    assert {clause for each in SUITE for clause in blamed_clauses(each)} == set(GUARANTEES)


@pytest.mark.parametrize("each", SUITE, ids=lambda each: each.id)
def test_a_scenario_is_one_and_says_what_it_catches(each: Scenario) -> None:
    assert problems("scenario", each.document) == []
    assert each.document["note"].startswith("Catches")


@pytest.mark.parametrize("each", SUITE, ids=lambda each: each.id)
def test_the_reference_keeps_it(each: Scenario) -> None:
    result = run_scenario(InProcess(ReferenceAdapter()), each)
    assert (result.outcome, result.differences, result.detail) == ("passed", (), "")


DURABLE = (
    "GRT/each-step-leaves-a-typed-record",
    "GRT/late-reports-stand-apart",
    "GRT/nothing-committed-is-lost",
)


@pytest.fixture(scope="module")
def durable() -> Iterator[Connection]:
    connection = resolve("reference-durable")()
    yield connection
    connection.close()


@pytest.mark.parametrize("name", DURABLE)
def test_the_durable_reference_keeps_it(durable: Connection, name: str) -> None:
    result = run_scenario(durable, scenarios.load(name))
    assert (result.outcome, result.differences, result.detail) == ("passed", (), "")


# Two choices that the Form leaves open are not what the reference promises.
OTHERWISE = {
    "lost_attempt=counted": "GRT-7",  # a lost delivery is another attempt
    "overlapping_contexts=after-stop": "GRT-2",  # the work of a frozen owner is not delivered again
}


@pytest.mark.parametrize("name", latitude.singles())
def test_other_choices_of_open_points_keep_the_guarantees_too(name: str) -> None:
    results = run_many(resolve(f"latitude:{name}"), SUITE)
    run = verdict.judge(catalogue.load(), results, GUARANTEES, "guarantees")
    failed = {record.clause.id for record in run.of("failed")}
    if name in OTHERWISE:
        assert OTHERWISE[name] in failed
    else:
        assert (run.verdict, failed) == ("qualified", set())


@pytest.mark.parametrize("name", promises())
def test_a_broken_promise_is_caught_and_its_clause_blamed(name: str) -> None:
    fault = promises()[name]
    seen = kill(fault, DIRECTED, SUITE)
    assert (seen.by, seen.blamed) == ("directed", fault.clause), seen.others


def test_every_guarantee_is_broken_by_a_faulty_host_that_says_what_it_breaks() -> None:
    assert {each.clause for each in promises().values()} == set(GUARANTEES)
    for each in promises().values():
        assert each.blamable <= set(GUARANTEES)
        assert each.clause not in each.also
        assert each.meaning.endswith(".")


def test_the_page_of_the_docs_has_every_faulty_host() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guarantees.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| GRT-")]
    rows = [tuple(cell.strip(" `") for cell in line.split("|")[1:4]) for line in lines]
    assert sorted(rows) == sorted((each.clause, each.name, each.meaning) for each in promises().values())


def test_the_suite_has_a_verdict_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    result = check("--suite", "guarantees", "--json", str(path))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "guarantees kept"
    report = json.loads(path.read_text())
    assert problems("report", report) == []
    assert (report["suite"], report["verdict"]) == ("guarantees", "qualified")
    assert [each["id"] for each in report["clauses"]] == list(GUARANTEES)
    assert {each["verdict"] for each in report["clauses"]} == {"passed"}


def test_a_broken_promise_fails_the_suite_and_not_the_form() -> None:
    result = check("fault:late-reports-go-untold", "--suite", "guarantees", "--scenario", "GRT/late-*")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "guarantees not kept (selection: GRT/late-*)"
    assert "FAILED GRT-10" in result.stdout
    result = check("fault:late-reports-go-untold", "--scenario", "PUB/a-stale-*")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "qualified (selection: PUB/a-stale-*)"


def test_without_the_instrument_it_is_unmeasured() -> None:
    class Silent(ReferenceAdapter):
        def handshake(self, hello: Any) -> dict[str, Any]:
            made = super().handshake(hello)
            return made | {"instruments": [each for each in made["instruments"] if each != "history"]}

    def connect() -> Connection:
        return InProcess(Silent())

    run = verdict.judge(catalogue.load(), run_many(connect, SUITE), GUARANTEES, "guarantees")
    assert run.verdict == "incomplete"
    assert {record.closed_by for record in run.of("unmeasured")} == {("history",)}
    assert {record.clause.id for record in run.of("passed")} == {"GRT-2", "GRT-3"}


def test_the_form_is_the_default_and_never_takes_a_scenario_of_the_other_suite() -> None:
    assert check("--scenario", "GRT/*").exit_code == 2
    assert check("--suite", "guarantees", "--scenario", "WFE/*").exit_code == 2
    assert check("--suite", "guarantees", "--only", "generated").exit_code == 2
    assert not {each.id for each in scenarios.shipped()} & {each.id for each in SUITE}


def test_a_scenario_of_it_is_replayed_and_explained() -> None:
    run = CliRunner().invoke
    result = run(application, ["replay", "GRT/each-step-leaves-a-typed-record"])
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "passed")
    assert "check GRT/late-reports-stand-apart" in run(application, ["explain", "GRT-10"]).stdout


def test_what_is_no_history_is_the_adapters_fault() -> None:
    class Wrong(ReferenceAdapter):
        def history(self, id: str) -> dict[str, Any]:
            return super().history(id) | {"run": 7}

    result = run_scenario(InProcess(Wrong()), scenarios.load("GRT/ids-never-change"))
    assert result.outcome == "errored"
    assert result.detail == "history returned what is none: run: must be a string, not 7"
