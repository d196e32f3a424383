"""The report for a reader: failures first, with the least needed to act; what is missing; a table.

The last line is the verdict alone, so that a script may read it with `tail -n 1`. All text goes through
`rich`, which leaves the colours out where the output is not a terminal; nothing is conveyed by colour only.
Long lines are wrapped by the terminal, never by us, so that a replay line can be copied.
"""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..verdict import CLAUSE_VERDICTS, ClauseRecord
from . import facts
from .model import Generated, Report

STYLE = {
    "failed": "bold red",
    "errored": "magenta",
    "unmeasured": "yellow",
    "passed": "green",
    "qualified": "bold green",
    "not-qualified": "bold red",
    "incomplete": "bold yellow",
}
SHOWN_VALUE = 300  # characters of an expected or seen value on the console; the JSON report has all of it
SHOWN_BLAMES = 3  # differences shown for one clause; the JSON report has all of them


def render(report: Report, console: Console) -> None:
    """Print the report."""
    _failures(report, console)
    _unattributed(report, console)
    _reasons(report, console, "errored", "Errored: the kit's or the adapter's own fault")
    _reasons(report, console, "unmeasured", "Unmeasured, and what would close it")
    _latitudes(report, console)
    print_table(console, _table(report))
    _closing(report, console)


def _line(console: Console, text: str = "", style: str | None = None) -> None:
    console.print(Text(facts.plain(text), style=style or ""), soft_wrap=True)


def _heading(console: Console, text: str) -> None:
    _line(console, text, "bold")


def _failures(report: Report, console: Console) -> None:
    for record in report.run.of("failed"):
        expectation = report.expectation(record.clause.id)
        known = (
            f" (expected: {expectation.reason})" if expectation and expectation.verdict == "failed" else ""
        )
        _line(console, f"FAILED {record.clause.id}{known}", STYLE["failed"])
        _line(console, f"  {record.clause.statement}")
        if record.clause.argument:
            _line(console, f"  because {record.clause.argument}")
        for blame in record.blames[:SHOWN_BLAMES]:
            difference = blame.difference
            _line(console, f"  {blame.scenario} {difference.at}: {difference.message}")
            _line(console, f"    expected {facts.value(difference.expected, SHOWN_VALUE)}")
            _line(console, f"    seen     {facts.value(difference.seen, SHOWN_VALUE)}")
            _line(console, f"    {report.replay_line(blame.scenario)}")
        if len(record.blames) > SHOWN_BLAMES:
            _line(console, f"  and {len(record.blames) - SHOWN_BLAMES} more differences")
        _line(console)


def _unattributed(report: Report, console: Console) -> None:
    for check in report.run.unattributed:
        _line(
            console,
            f"{check.outcome.upper()} {check.scenario}, blaming no clause that has a verdict",
            STYLE["errored"],
        )
        for difference in check.differences[:SHOWN_BLAMES]:
            _line(console, f"  {difference.clause} {difference.at}: {difference.message}")
        if check.detail:
            _line(console, f"  {facts.first_line(check.detail)}")
        _line(console, f"    {report.replay_line(check.scenario)}")
        _line(console)


def _reasons(report: Report, console: Console, verdict: str, heading: str) -> None:
    records = [record for record in report.run.judged if record.verdict == verdict]
    if not records:
        return
    _heading(console, heading)
    for reason, ids in _by_reason(records).items():
        _line(console, f"  {reason}: {', '.join(ids)}", STYLE[verdict])
    _line(console)


def _by_reason(records: list[ClauseRecord]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for record in records:
        reasons.setdefault(facts.why(record), []).append(record.clause.id)
    return dict(sorted(reasons.items(), key=lambda item: -len(item[1])))


def _latitudes(report: Report, console: Console) -> None:
    taken = [record for record in report.standing("open") if record.choices]
    if not taken:
        return
    _heading(console, "Open points, and what the Host was seen to do")
    for record in taken:
        _line(console, f"  {record.clause.id:8} {', '.join(record.choices)}")
    _line(console)


def print_table(console: Console, table: Table) -> None:
    """Print a table, without the blanks at the ends of its lines where nobody sees its frame."""
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().strip("\n").split("\n"):
        _line(console, line.rstrip())


def _table(report: Report) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("chapter")
    for verdict in CLAUSE_VERDICTS:
        table.add_column(verdict, justify="right")
    table.add_column("no verdict", justify="right")
    for chapter, records in report.chapters():
        counts = [sum(record.verdict == verdict for record in records) for verdict in CLAUSE_VERDICTS]
        rest = sum(record.verdict is None for record in records)
        cells = [
            Text(str(count) if count else "-", style=STYLE[verdict] if count else "")
            for count, verdict in zip(counts, CLAUSE_VERDICTS, strict=True)
        ]
        table.add_row(chapter, *cells, str(rest) if rest else "-")
    return table


def _closing(report: Report, console: Console) -> None:
    for problem in report.expected_problems:
        _line(console, f"expected failures: {problem}", STYLE["failed"])
    if report.expected:
        known = f"{len(report.expected)} known; the exit status is {report.exit_status}"
        _line(console, f"expected  {known}")
    host = report.host
    counts = ", ".join(f"{count} {verdict}" for verdict, count in report.run.counts.items())
    _line(console, f"host      {host.name} {host.version} ({host.address})")
    if host.standing:
        _line(console, f"which is  {host.standing}")
    _line(console, f"with      {', '.join(host.instruments) or 'no instruments'}")
    if not host.has_clock:
        left = sum("clock" in check.missing for check in report.run.checks)
        _line(console, f"no clock  short scenarios were played on real time; it would take one for {left}")
    _line(console, f"catalogue {report.kit.catalogue_version} {report.kit.catalogue_digest}")
    _line(console, f"probe     {report.kit.probe_digest}")
    _line(console, f"seed      {report.seed}")
    _line(console, f"checks    {len(report.run.checks)} in {report.seconds:.1f} s")
    if report.generated is not None:
        _line(console, f"generated {generated_line(report.generated)}")
    _line(console, f"clauses   {counts}; {_without_verdict(report)}")
    _line(console, report.verdict_line, STYLE[report.run.verdict])


def generated_line(generated: Generated) -> str:
    """How much was generated."""
    amount = f"{generated.scenarios} scenarios, {generated.entries} entries"
    return f"{amount} ({generated.profile}) in {generated.seconds:.1f} s"


def _without_verdict(report: Report) -> str:
    counts = {kind: len(report.standing(kind)) for kind in ("open", "exclusion", "reference", "unobservable")}
    return "no verdict: " + (
        ", ".join(f"{count} {kind}" for kind, count in counts.items() if count) or "none"
    )
