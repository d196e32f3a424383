"""The score of a run of mutants, and each survivor that nobody has explained.

Usage: python mutation/report.py SESSION

`survivors.toml` says what a survivor is, and why. It is known by its module and the line that it changes, and
by the operator that changes it; what is explained is left out of the score.
"""

from __future__ import annotations

import sqlite3
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

SURVIVED, SKIPPED = "SURVIVED", "SKIPPED"
UNEXPLAINED, UNTRIED = "unexplained", "not tried"
COLUMNS = ("killed", "equivalent", "open", "unobservable", "unreached", UNEXPLAINED, UNTRIED)
EXPLAINED = Path(__file__).with_name("survivors.toml")


@dataclass(frozen=True)
class Mutant:
    """One change: where, by which operator, and the line before and after."""

    module: str
    line: int
    operator: str
    before: str
    after: str


def main(session: str) -> int:
    """Print the figures by module, and the survivors without a reason by place."""
    with closing(sqlite3.connect(session)) as database:
        rows = database.execute(
            "select module_path, start_pos_row, operator_name, worker_outcome, test_outcome, diff"
            " from mutation_specs left join work_results using (job_id)"
            " order by module_path, start_pos_row, operator_name"
        ).fetchall()
    reasons = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))["reason"]
    figures: dict[str, Counter[str]] = defaultdict(Counter)
    unexplained = []
    for row in rows:
        if row[3] == SKIPPED:
            continue
        mutant = _mutant(row)
        became = _became(mutant, row[4], reasons)
        figures[mutant.module][became] += 1
        figures["all"][became] += 1
        if became == UNEXPLAINED:
            unexplained.append(mutant)
    print(f"| module | {' | '.join(COLUMNS)} | score |\n|{'---|' * (len(COLUMNS) + 2)}")
    for module, counts in sorted(figures.items(), key=lambda each: each[0] == "all"):
        print(_row(module, counts))
    for each in unexplained:
        print(f"\n{each.module}:{each.line} {each.operator}\n  - {each.before}\n  + {each.after}")
    return 1 if unexplained else 0


def _mutant(row: Sequence[Any]) -> Mutant:
    module, line, operator, _, _, diff = row
    changes = {"-": "", "+": ""}
    for text in (diff or "").splitlines():
        if text[:1] in changes and text[:3] not in ("---", "+++"):
            changes[text[0]] = (
                changes[text[0]] or text[1:].strip()
            )  # the first: the file's end may differ too
    name = module.rpartition("/")[2]
    return Mutant(name, line, operator.removeprefix("core/"), changes["-"], changes["+"])


def _became(mutant: Mutant, outcome: str | None, reasons: Sequence[Mapping[str, Any]]) -> str:
    if outcome != SURVIVED:
        return "killed" if outcome else UNTRIED
    changed = f"{mutant.module}: {mutant.before}"
    for each in reasons:
        places, operators = each["where"], each.get("operators", ["*"])
        if _matches(changed, places) and _matches(mutant.operator, operators):
            return str(each["kind"])
    return UNEXPLAINED


def _matches(text: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(text, each.replace("[", "[[]")) for each in globs)


def _row(module: str, counts: Mapping[str, int]) -> str:
    tried = counts["killed"] + counts[UNEXPLAINED]
    score = f"{counts['killed'] / tried:.1%}" if tried else "-"
    return f"| {module} | {' | '.join(str(counts[each]) for each in COLUMNS)} | {score} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
