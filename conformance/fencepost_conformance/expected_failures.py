"""Known failures: a file that changes the exit status of a run, and never its verdict.

A Host that is on its way writes down which clauses it fails or cannot measure, and why, so that its own
continuous integration goes red for what is new. The file is TOML or JSON, a list of entries under
`expected`:

    [[expected]]
    clause = "WFE-5"
    verdict = "failed"            # or "unmeasured"
    reason = "the timer beats the event at one instant; fix planned"

Clauses that share a verdict and a reason may share an entry: `clause = ["WFE-5", "WFE-6"]`.

An entry that no longer holds is *stale*, and one whose clause is unknown or has no verdict is *unknown*:
both are errors, because a list that nobody prunes ends up hiding what it was meant to show. An errored
clause cannot be expected: the fault is the kit's or the adapter's, and says nothing of the Host. Entries
outside of a selection are left alone.

| with the entries applied | exit status |
|---|---|
| an entry is stale or unknown | 1 |
| a clause failed that no entry covers | 1 |
| a clause is errored, or unmeasured with no entry; a failed check is unattributed; nothing is judged | 3 |
| anything else | 0 |
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fencepost_spec.catalogue import Catalogue

from .verdict import EXIT_STATUS, RunRecord, standing

Expectable = Literal["failed", "unmeasured"]
KEYS = {"clause", "verdict", "reason"}


class BadExpectedFailures(ValueError):
    """The file cannot be used; the message says what to mend."""


@dataclass(frozen=True)
class ExpectedFailure:
    """One clause that is known to fail, or known not to be measured."""

    clause: str
    verdict: Expectable
    reason: str


def load(path: Path) -> tuple[ExpectedFailure, ...]:
    """Read a file of expected failures; raises `BadExpectedFailures` or `OSError`."""
    try:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except ValueError as error:  # bad UTF-8, JSON and TOML are all ValueErrors
        raise BadExpectedFailures(f"{path} is neither TOML nor JSON: {error}") from error
    entries = document.get("expected") if isinstance(document, dict) and len(document) == 1 else None
    if not isinstance(entries, list):
        raise BadExpectedFailures(f"{path} must hold a list named 'expected' and nothing else")
    expected = tuple(
        each for index, entry in enumerate(entries) for each in _entry(f"{path}: expected[{index}]", entry)
    )
    seen: set[str] = set()
    for entry in expected:
        if entry.clause in seen:
            raise BadExpectedFailures(f"{path}: {entry.clause} stands there twice; keep one entry")
        seen.add(entry.clause)
    return expected


def _entry(where: str, entry: Any) -> Iterator[ExpectedFailure]:
    if not isinstance(entry, dict) or set(entry) != KEYS:
        raise BadExpectedFailures(f"{where} must have exactly the keys clause, verdict and reason")
    given, verdict, reason = entry["clause"], entry["verdict"], entry["reason"]
    clauses = given if isinstance(given, list) and given else [given]
    if not all(isinstance(value, str) and value.strip() for value in (*clauses, verdict, reason)):
        raise BadExpectedFailures(
            f"{where}: clause, verdict and reason must be strings that are not empty; clause may be a list"
        )
    if verdict not in ("failed", "unmeasured"):
        raise BadExpectedFailures(f"{where}: verdict must be 'failed' or 'unmeasured'")
    for clause in clauses:
        yield ExpectedFailure(clause, verdict, reason)


def problems(catalogue: Catalogue, run: RunRecord, expected: Sequence[ExpectedFailure]) -> tuple[str, ...]:
    """One line for each entry that is unknown or stale."""
    verdicts = {record.clause.id: record.verdict for record in run.clauses}
    found = []
    for entry in expected:
        clause = catalogue.clauses.get(entry.clause)
        if clause is None:
            found.append(f"{entry.clause} is no clause of the catalogue: remove the entry")
        elif (kind := standing(clause, run.suite)) != "judged":
            found.append(f"{entry.clause} is {kind} and has no verdict: remove the entry")
        elif entry.clause in verdicts and verdicts[entry.clause] != entry.verdict:
            seen = _was(verdicts[entry.clause])
            found.append(
                f"{entry.clause} is expected to be {entry.verdict}, but it {seen}: remove or change the entry"
            )
    return tuple(found)


def _was(verdict: str | None) -> str:
    return f"is {verdict}" if verdict == "unmeasured" else str(verdict)


def exit_status(catalogue: Catalogue, run: RunRecord, expected: Sequence[ExpectedFailure] = ()) -> int:
    """The exit status of a run: 0, 1 or 3, as in the table above."""
    if problems(catalogue, run, expected):
        return 1
    covered = {(entry.clause, entry.verdict) for entry in expected}
    left = {record.verdict for record in run.judged if (record.clause.id, record.verdict) not in covered}
    rows = (
        ("failed" in left, EXIT_STATUS["not-qualified"]),
        (bool(left - {"passed"}) or bool(run.unattributed) or not run.judged, EXIT_STATUS["incomplete"]),
        (True, EXIT_STATUS["qualified"]),
    )
    return next(status for holds, status in rows if holds)
