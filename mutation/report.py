"""The score of a run of mutants, and each survivor that nobody has explained.

Usage: python mutation/report.py SESSION

`survivors.toml` says which survivors are *equivalent* (no input can show them), *open* (what they do is
admitted too) or *unobservable* (no caller and no workflow can see it), and why. A survivor is known by its
module, by the line that it changes and by the operator that changes it; these are left out of the score.
"""

from __future__ import annotations

import sqlite3
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

SURVIVED, SKIPPED = "SURVIVED", "SKIPPED"
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
    """Print the figures, and the survivors without a reason by place."""
    with closing(sqlite3.connect(session)) as database:
        rows = database.execute(
            "select module_path, start_pos_row, operator_name, worker_outcome, test_outcome, diff"
            " from work_results join mutation_specs using (job_id)"
            " order by module_path, start_pos_row, operator_name"
        ).fetchall()
        whole = database.execute("select count(*) from work_items").fetchone()[0]
    reasons = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))["survivor"]
    tried = [row for row in rows if row[3] != SKIPPED]
    survivors = [_mutant(row) for row in tried if row[4] == SURVIVED]
    kinds = Counter(_kind(each, reasons) for each in survivors)
    killed = len(tried) - len(survivors)
    counted = killed + kinds[""]
    print(f"{len(tried)} mutants tried, {killed} killed, {whole - len(rows)} not tried yet")
    explained = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()) if kind)
    print(f"{len(survivors)} survived: {explained or 'none explained'}, {kinds['']} unexplained")
    print(f"score {killed / max(1, counted):.1%} of those that count")
    for each in survivors:
        if not _kind(each, reasons):
            print(f"\n{each.module}:{each.line} {each.operator}\n  - {each.before}\n  + {each.after}")
    return 1 if kinds[""] else 0


def _mutant(row: Sequence[Any]) -> Mutant:
    module, line, operator, _, _, diff = row
    changes = {"-": "", "+": ""}
    for text in (diff or "").splitlines():
        if text[:1] in changes and text[:3] not in ("---", "+++"):
            changes[text[0]] = text[1:].strip()
    name = module.rpartition("/")[2]
    return Mutant(name, line, operator.removeprefix("core/"), changes["-"], changes["+"])


def _kind(mutant: Mutant, reasons: Sequence[Mapping[str, Any]]) -> str:
    for each in reasons:
        if (each["module"], each["line"]) == (mutant.module, mutant.before) and any(
            fnmatchcase(mutant.operator, operator) for operator in each.get("operators", ["*"])
        ):
            return str(each["kind"])
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
