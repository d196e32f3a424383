"""The kill table: which faulty hosts the kit caught, with which scenario, and how fair it was to the others.

One document carries it from the run that made it to the console and to the page of the docs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..selftest import Fairness, Kill
from . import teeth

FORMAT = "fencepost.self-test@1"

Document = dict[str, Any]


def document(scope: str, kills: Sequence[Kill], fair: Sequence[Fairness], seconds: float) -> Document:
    """Everything that a self-test found, as JSON data."""
    return {
        "format": FORMAT,
        "profile": scope,
        "seconds": round(seconds, 1),
        "faults": [
            {**asdict(each), "seconds": round(each.seconds, 2), "passed": each.passed} for each in kills
        ],
        "latitudes": [
            {**asdict(each), "seconds": round(each.seconds, 2), "passed": each.passed} for each in fair
        ],
    }


def numbers(found: Document) -> str:
    """The figures of a self-test on one line."""
    faults, fair = found["faults"], found["latitudes"]
    by = [each["by"] for each in faults]
    caught = f"{by.count('directed')} caught by directed scenarios, {by.count('generated')} by generated ones"
    clauses = len({each["clause"] for each in faults})
    alarms = sum(not each["passed"] for each in fair)
    return (
        f"{len(faults)} faulty hosts for {clauses} clauses: {caught}, {by.count('')} missed; "
        f"{len(fair)} fair hosts: {alarms} false alarms"
    )


def page(found: Document, command: str, generated: Document | None = None) -> str:
    """The page of the docs, in Markdown; with a column for what generated scenarios find alone, if it is
    given."""
    alone = {} if generated is None else {each["fault"]: each for each in generated["faults"]}
    lines = [
        "# The kill table",
        "",
        "A kit that passes everything proves nothing. So the kit is run against *faulty hosts*: the",
        "reference with exactly one rule broken in each. Each has to be caught, and the clause that it",
        "breaks, or one that its entry declares as equally broken, has to be the one that is blamed.",
        "As grave as a miss is a false alarm: so the kit is run against *fair hosts* too, the reference",
        "under other choices of the points that the Form leaves open, and each of these has to come out",
        "qualified.",
        "",
        f"This page was written by `{command}`. {numbers(found)}.",
        "",
        "`fencepost check fault:NAME` shows one of them. The size is that of the scenario, in schedule",
        "entries.",
        "",
        *_told(generated),
        "| fault | what is broken | breaks | caught by | blamed | scenario | size |"
        + " generated |" * bool(alone),
        "|---|---|---|---|---|---|---|" + "---|" * bool(alone),
    ]
    for each in found["faults"]:
        cells = (
            f"`{each['fault']}`",
            each["meaning"],
            each["clause"],
            each["by"] or "**missed**",
            each["blamed"],
            each["scenario"] and f"`{each['scenario']}`",
            str(each["size"] or ""),
            *([teeth.cell(alone.get(each["fault"]))] if alone else []),
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    alarms = [f"- `{each['host']}`: {alarm}" for each in found["latitudes"] for alarm in each["alarms"]]
    lines += ["", "## Fair hosts", ""]
    lines += alarms or [f"{len(found['latitudes'])} hosts, no false alarm."]
    return "\n".join(lines) + "\n"


def _told(generated: Document | None) -> list[str]:
    if generated is None:
        return []
    said = teeth.numbers(generated)
    return [
        f"Told by `fencepost self-test --only generated`: {said}. The last column shows the clause that is",
        "blamed there; what generation cannot reach, such as a request to the management API, it misses.",
        "",
    ]


__all__ = ["document", "numbers", "page"]
