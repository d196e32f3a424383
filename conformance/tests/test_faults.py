"""The table of faulty hosts is whole, and what a fault says of itself is true of it."""

from pathlib import Path

import pytest
from fencepost_conformance import faults
from fencepost_conformance.faults.table import TABLE, fault
from fencepost_conformance.selftest import Scope, kill
from fencepost_conformance.verdict import standing
from fencepost_spec import catalogue

ENOUGH = 90
DIRECTED = Scope("directed", 0, False, 0, 0)

# The faults that engines were seen to ship, in the words in which they are told, and where each is.
SHIPPED_BY_ENGINES = {
    "a second create with the same id runs again": "second-create-runs-again",
    "a second create returns the existing handle": "second-create-gives-the-handle",
    "an event sent before the wait is lost": "lost-before-the-wait",
    "one event is given to two waits after a restart": "consumption-forgotten-at-a-restart",
    "a lexicographic key puts events out of order after a restart": "order-is-text-after-a-restart",
    "a timed-out waiter swallows the next event": "timed-out-wait-swallows",
    "the deadline is judged when the sweeper runs": "deadline-is-the-sweepers",
    "the timeout is recorded at the deadline's own instant": "timeout-at-the-deadline-itself",
    "an event that is processed late counts as late": "processed-late-is-late",
    "capacity is off by one, below": "inbox-of-1023-events",
    "capacity is off by one, above": "inbox-of-1025-events",
    "capacity is counted in characters": "inbox-counts-characters",
    "capacity is counted without the type": "inbox-counts-payloads",
    "capacity is applied to a hand-over": "full-inbox-stops-hand-over",
    "a retry runs in the same context": "retries-stay-in-the-context",
    "a retry delay overflows": "delays-overflow",
    "a retry delay is uncapped": "delays-are-uncapped",
    "the attempt counter is lost at a restart": "attempts-in-memory",
    "module state survives": "module-is-evaluated-once",
    "suspension is seen by finally": "suspension-runs-handlers",
    "overlap is allowed": "steps-may-overlap",
    "an unsettled step is allowed": "unsettled-steps-are-forgotten",
    "a nested step is allowed": "nested-steps-run",
    "an error is recognised by its name": "errors-are-known-by-name",
    "the step limit is catchable": "step-limit-can-be-caught",
    "the step limit is off by one": "step-limit-of-1025",
    "the step limit counts retries": "retries-count",
    "terminated is published before the stop": "terminated-before-the-stop",
    "terminate overwrites a finished outcome": "terminate-overwrites",
    "a stale owner commits a result": "stale-owners-commit-results",
    "a stale owner commits a status": "stale-owners-publish-sleep",
    "a stale owner consumes an event": "stale-owners-take-events",
    "sleeping is published before the stop": "sleeping-before-the-stop",
    "a timer is restarted on recovery": "timers-start-again",
    "pending configuration is replaced by newer code": "newer-policies-count",
    "purge comes before retention is over": "kept-ten-seconds-too-short",
    "retention is counted from creation": "kept-from-its-creation",
    "a delete leaves timers to the re-created name": "timers-survive",
    "a delete leaves history to the re-created name": "histories-survive",
    "a delete leaves events to the re-created name": "events-survive",
    "__proto__ is swallowed": "proto-is-swallowed",
    "-0 stays -0": "negative-zero-is-kept",
    "1e21 is written otherwise": "size-before-the-canonical-form",
    "lone surrogates pass": "lone-surrogates-are-replaced",
    "1,024 properties are too many": "roots-1023-properties",
    "1,025 properties pass": "roots-1025-properties",
    "getters run": "getters-run",
}


def test_every_clause_that_can_be_broken_has_a_fault_or_a_reason_why_it_has_none():
    clauses = catalogue.load().clauses.values()
    binding = {each.id for each in clauses if each.strength in ("required", "derived")}
    broken = {each.clause for each in faults.load().values()}
    assert binding - broken == set(faults.UNBROKEN)
    assert all(faults.UNBROKEN.values())


def test_a_fault_breaks_and_declares_clauses_that_have_a_verdict_and_says_what_it_breaks():
    clauses = catalogue.load().clauses
    for each in faults.load().values():
        assert all(standing(clauses[clause]) == "judged" for clause in each.blamable), each.name
        assert each.clause not in each.also, each.name
        assert each.meaning.endswith("."), each.name


def test_there_are_enough_and_those_that_engines_shipped_are_among_them():
    assert len(faults.load()) >= ENOUGH
    assert set(SHIPPED_BY_ENGINES.values()) <= set(faults.load())


def test_two_faults_of_one_name_are_refused():
    class SecondCreateRunsAgain:
        """Another."""

    faults.load()
    with pytest.raises(ValueError, match="two faults named second-create-runs-again"):
        fault("BND-3")(SecondCreateRunsAgain)


@pytest.mark.parametrize(
    ("name", "clause"),
    [
        ("second-create-runs-again", "BND-3"),
        ("undefined-is-left-out", "DOC-4"),
        ("newest-first", "WFE-8"),
        ("terminate-overwrites", "TRM-3"),
        ("steps-may-overlap", "STP-6"),
        ("delays-overflow", "DO-3"),
        ("busy-is-a-conflict", "DEL-9"),
    ],
)
def test_a_faulty_host_is_caught_and_its_clause_blamed(name, clause):
    seen = kill(TABLE[name] if name in TABLE else faults.load()[name], DIRECTED)
    assert (seen.by, seen.blamed) == ("directed", clause)
    assert seen.size > 0


def test_the_page_of_the_docs_has_every_fault_caught():
    page = (Path(__file__).parents[2] / "docs" / "kill-table.md").read_text(encoding="utf-8")
    rows = {
        cells[1].strip(" `"): cells for cells in (line.split("|") for line in page.splitlines()) if cells[1:]
    }
    for each in faults.load().values():
        assert each.name in rows, f"{each.name} is missing: write the page anew with 'nox -s self_test'"
        assert rows[each.name][3].strip() == each.clause
    assert "**missed**" not in page
