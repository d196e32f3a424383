"""The report as a JSON document, `fencepost.report@1`.

The last key is `complete`, and it is true: a file that was cut short does not parse, and one that was put
together by hand from parts shows it.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from ..results import CheckResult, Difference
from ..verdict import ClauseRecord
from . import facts
from .model import Generated, Report

FORMAT = "fencepost.report@1"


def render(report: Report) -> str:
    """The report as JSON text, with a newline at its end."""
    return json.dumps(document(report), indent=1, ensure_ascii=True, default=repr) + "\n"


def document(report: Report) -> dict[str, Any]:
    """The report as a JSON document."""
    return {
        "format": FORMAT,
        "kit": {"name": "fencepost", "version": report.kit.version, "probe": report.kit.probe_digest},
        "spec": {"version": report.kit.catalogue_version, "digest": report.kit.catalogue_digest},
        "host": {
            "address": report.host.address,
            "name": report.host.name,
            "version": report.host.version,
            "instruments": list(report.host.instruments),
            **({"standing": report.host.standing} if report.host.foreign else {}),
        },
        "seed": report.seed,
        "selection": _selection(report),
        "startedAt": report.started_at,
        "seconds": round(report.seconds, 3),
        **({} if report.run.suite == "form" else {"suite": report.run.suite}),
        "verdict": report.run.verdict,
        "counts": report.run.counts,
        "clauses": [clause(record) for record in report.run.clauses],
        "latitudes": {
            record.clause.id: list(record.choices) for record in report.standing("open") if record.choices
        },
        "checks": [
            check(result) | {"replay": report.replay_line(result.scenario)} for result in report.run.checks
        ],
        "generated": _generated(report.generated),
        "unattributed": [result.scenario for result in report.run.unattributed],
        "expectedFailures": {
            "entries": [
                {"clause": entry.clause, "verdict": entry.verdict, "reason": entry.reason}
                for entry in report.expected
            ],
            "problems": list(report.expected_problems),
        },
        "exitStatus": report.exit_status,
        "complete": True,
    }


def _selection(report: Report) -> dict[str, Any] | None:
    selection = report.selection
    if not selection:
        return None
    return {
        "clauses": list(selection.clauses),
        "scenarios": list(selection.scenarios),
        "heavy": selection.heavy,
        "only": selection.only or None,
    }


def _generated(generated: Generated | None) -> dict[str, Any] | None:
    if generated is None:
        return None
    return {**asdict(generated), "seconds": round(generated.seconds, 3)}


def clause(record: ClauseRecord) -> dict[str, Any]:
    """One clause: what it says, its verdict or standing, and what that rests on."""
    return {
        "id": record.clause.id,
        "chapter": record.clause.chapter,
        "strength": record.clause.strength,
        "statement": record.clause.statement,
        "argument": record.clause.argument,
        "standing": record.standing,
        "verdict": record.verdict,
        "why": facts.why(record) or None,
        "checks": [
            {"scenario": result.scenario, "verdict": result.outcome, "detail": result.detail}
            for result in record.checks
        ],
        "failures": [{"scenario": blame.scenario} | difference(blame.difference) for blame in record.blames],
        "closedBy": list(record.closed_by),
    }


def check(result: CheckResult) -> dict[str, Any]:
    """One check: its outcome, and everything that was seen to differ."""
    return {
        "scenario": result.scenario,
        "title": result.title,
        "clauses": list(result.clauses),
        "outcome": result.outcome,
        "differences": [difference(each) for each in result.differences],
        "missing": list(result.missing),
        "detail": result.detail,
        "choices": dict(sorted(result.choices.items())),
        "seconds": round(result.seconds, 3),
    }


def difference(each: Difference) -> dict[str, Any]:
    """One difference between what was expected and what was seen."""
    return {
        "clause": each.clause,
        "at": each.at,
        "expected": each.expected,
        "seen": each.seen,
        "message": each.message,
    }
