"""From what the checks saw to what may be said of a Host: a pure function of results and catalogue.

**A clause.** Its strength decides whether it can have a verdict at all; a clause that cannot has a
*standing* instead, and only what was seen of it is recorded.

| the clause is | standing | has a verdict |
|---|---|---|
| required or derived, and can be seen from outside | judged | yes |
| required or derived, with a stated reason why it cannot be seen | unobservable | no |
| open | open | no: the choices that the Host was seen to take |
| an exclusion | exclusion | no |
| a promise of the reference alone (GRT) | reference | no |

That is so in the suite *form*. In the suite *guarantees* the promises of the reference are judged in the same
way, and no others are: what required and derived clauses say is *form* there. Neither suite has a say in the
verdict of the other.

The verdict of a judged clause is the first row that holds.

| what its checks saw | verdict | why not otherwise |
|---|---|---|
| a failed check blames it | failed | a broken rule is not mended by kept ones, nor by a check that broke |
| a check of it errored | errored | it may have been about to fail, or not: it is neither |
| a check of it passed | passed | a check that lacked an instrument takes nothing back; it is shown |
| anything else | unmeasured | no check, no instrument, or an end at another clause: nothing is proven |

A failed check blames the clauses that its differences name, and gives its other clauses nothing. One that
names no difference blames the first of its clauses. A failed check that blames no judged clause, and an
errored one that measures none, is *unattributed*: it can fail nobody, and nobody is qualified while it
stands, except where it blames promises of the reference, which bind no other Host.

**A run** covers the clauses of its selection, and every clause outside of it that was seen to fail.

| among the judged clauses of the run | verdict of the run | exit status |
|---|---|---|
| one failed | not-qualified | 1 |
| one is unmeasured or errored, or a failed check is unattributed, or none is judged | incomplete | 3 |
| all passed | qualified | 0 |

No check at all is no run: `NothingChecked`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fencepost_spec.catalogue import Catalogue, Clause

from .results import CheckResult, Difference, Outcome
from .scenario import Suite

ClauseVerdict = Literal["passed", "failed", "unmeasured", "errored"]
RunVerdict = Literal["qualified", "not-qualified", "incomplete"]
Standing = Literal["judged", "unobservable", "open", "exclusion", "reference", "form"]

# Failures first: the order in which a reader wants to meet them, and in which one verdict hides another.
CLAUSE_VERDICTS: tuple[ClauseVerdict, ...] = ("failed", "errored", "unmeasured", "passed")

STANDING_OF_STRENGTH: Mapping[Suite, Mapping[str, Standing]] = {
    "form": {
        "required": "judged",
        "derived": "judged",
        "open": "open",
        "exclusion": "exclusion",
        "reference": "reference",
    },
    "guarantees": {
        "required": "form",
        "derived": "form",
        "open": "open",
        "exclusion": "exclusion",
        "reference": "judged",
    },
}

EXIT_STATUS: Mapping[RunVerdict, int] = {"qualified": 0, "not-qualified": 1, "incomplete": 3}


class NothingChecked(ValueError):
    """A run of zero checks says nothing about a Host."""


@dataclass(frozen=True)
class Blame:
    """One difference, and the scenario whose check saw it."""

    scenario: str
    difference: Difference


@dataclass(frozen=True)
class ClauseRecord:
    """All that a run saw of one clause; `verdict` is None exactly where the standing admits none."""

    clause: Clause
    standing: Standing
    verdict: ClauseVerdict | None
    checks: tuple[CheckResult, ...] = ()
    blames: tuple[Blame, ...] = ()
    closed_by: tuple[str, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def outcomes(self) -> Mapping[Outcome, int]:
        """How many checks of the clause ended in each outcome."""
        return Counter(check.outcome for check in self.checks)


@dataclass(frozen=True)
class RunRecord:
    """The verdict of a run, and of each clause in it in the order of the catalogue."""

    verdict: RunVerdict
    clauses: tuple[ClauseRecord, ...]
    checks: tuple[CheckResult, ...]
    unattributed: tuple[CheckResult, ...] = ()
    suite: Suite = "form"

    @property
    def judged(self) -> tuple[ClauseRecord, ...]:
        """The clauses that have a verdict."""
        return tuple(record for record in self.clauses if record.verdict is not None)

    @property
    def counts(self) -> dict[ClauseVerdict, int]:
        """How many clauses have each verdict."""
        counted = Counter(record.verdict for record in self.judged)
        return {verdict: counted[verdict] for verdict in CLAUSE_VERDICTS}

    def of(self, verdict: ClauseVerdict) -> tuple[ClauseRecord, ...]:
        """The clauses with this verdict."""
        return tuple(record for record in self.clauses if record.verdict == verdict)


def standing(clause: Clause, suite: Suite = "form") -> Standing:
    """Whether a clause is judged in a suite, and why not if it is not."""
    by_strength = STANDING_OF_STRENGTH[suite][clause.strength]
    return "unobservable" if by_strength == "judged" and clause.unobservable else by_strength


def judge(
    catalogue: Catalogue,
    checks: Sequence[CheckResult],
    selection: Collection[str] | None = None,
    suite: Suite = "form",
) -> RunRecord:
    """The verdict over the clauses of `selection` (None: all); raises `NothingChecked`, `KeyError`."""
    if not checks:
        raise NothingChecked("no check ran: choose clauses that a scenario measures")
    by_clause: dict[str, list[CheckResult]] = defaultdict(list)
    blames: dict[str, list[Blame]] = defaultdict(list)
    choices: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    unattributed = []
    for check in checks:
        for clause in dict.fromkeys((*check.clauses, *(blame.difference.clause for blame in _blames(check)))):
            by_clause[clause].append(check)
        for blame in _blames(check):
            blames[blame.difference.clause].append(blame)
        for clause, choice in check.choices.items():
            choices[clause][choice].append(check.scenario)
        if _is_unattributed(catalogue, check, suite):
            unattributed.append(check)
    for clause in (*by_clause, *choices):
        if clause not in catalogue.clauses:
            raise KeyError(f"a check names {clause}, which is no clause of the catalogue")

    records = tuple(
        _record(clause, suite, by_clause[name], blames[name], choices[name])
        for name, clause in catalogue.clauses.items()
        if selection is None or name in selection or (name in blames and standing(clause, suite) == "judged")
    )
    return RunRecord(_run_verdict(records, unattributed), records, tuple(checks), tuple(unattributed), suite)


def _blames(check: CheckResult) -> tuple[Blame, ...]:
    if check.outcome != "failed":
        return ()
    differences = check.differences or (
        Difference(check.clauses[0], "", None, None, check.detail or "the check failed"),
    )
    return tuple(Blame(check.scenario, difference) for difference in differences)


def _is_unattributed(catalogue: Catalogue, check: CheckResult, suite: Suite) -> bool:
    if check.outcome == "errored" and not check.clauses:
        return True
    standings = {standing(catalogue.clauses[blame.difference.clause], suite) for blame in _blames(check)}
    return bool(standings) and not standings & {"judged", "reference"}


def _record(
    clause: Clause,
    suite: Suite,
    checks: list[CheckResult],
    blames: list[Blame],
    choices: Mapping[str, list[str]],
) -> ClauseRecord:
    kind = standing(clause, suite)
    verdict = _clause_verdict(checks, blames) if kind == "judged" else None
    return ClauseRecord(
        clause,
        kind,
        verdict,
        tuple(checks),
        tuple(blames),
        _closed_by(checks) if verdict == "unmeasured" else (),
        {choice: tuple(seen) for choice, seen in sorted(choices.items())},
    )


def _clause_verdict(checks: Iterable[CheckResult], blames: Collection[Blame]) -> ClauseVerdict:
    outcomes = {check.outcome for check in checks}
    rows: tuple[tuple[bool, ClauseVerdict], ...] = (
        (bool(blames), "failed"),
        ("errored" in outcomes, "errored"),
        ("passed" in outcomes, "passed"),
        (True, "unmeasured"),
    )
    return next(verdict for holds, verdict in rows if holds)


def _closed_by(checks: Iterable[CheckResult]) -> tuple[str, ...]:
    """The fewest instruments that let one more check of the clause run."""
    wanted = sorted({tuple(sorted(check.missing)) for check in checks if check.missing})
    return min(wanted, key=len, default=())


def _run_verdict(records: Iterable[ClauseRecord], unattributed: Collection[CheckResult]) -> RunVerdict:
    verdicts = {record.verdict for record in records} - {None}
    rows: tuple[tuple[bool, RunVerdict], ...] = (
        ("failed" in verdicts, "not-qualified"),
        (bool(unattributed) or verdicts != {"passed"}, "incomplete"),
        (True, "qualified"),
    )
    return next(verdict for holds, verdict in rows if holds)
