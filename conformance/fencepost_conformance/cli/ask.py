"""`fencepost ask`: what must happen? The reference answers, moment by moment, with the clauses behind each
move."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..inprocess import InProcess
from ..report import facts
from ..report.console import STYLE, print_table
from ..results import CheckResult
from ..runner import run_scenario
from ..timeline import Row, Watched, timeline
from . import screen, sources
from .replay import EXIT_STATUS, show

MILLISECONDS = 1000
SHOWN_CHARACTERS = 200  # of one action or reply; megabyte documents are no reading matter


@click.command(name="ask")
@click.argument("file")
@click.option("--json", "wants_json", is_flag=True, help="Print the timeline as JSON.")
@click.option("--instance", metavar="ID", help="Show one instance only.")
def command(file: str, wants_json: bool, instance: str | None) -> None:
    """Run FILE on the reference and print what happened: instant, action, reply, status and clauses.

    FILE is a scenario or the id of a shipped one. Its expectations may be left out: the timeline is the
    answer. Where it has some, the exit status says whether they held, as 'fencepost replay' does.

    \b
    Examples:
      fencepost ask question.json
      fencepost ask WFE/event-at-the-deadline-wins
    """
    scenario = sources.scenario(file)
    watched = Watched()
    result = run_scenario(InProcess(watched), scenario)
    rows = [row for row in _rows(watched) if instance in (None, row.instance) or not row.instance]
    if wants_json:
        click.echo(json.dumps([document(row) for row in rows], indent=1))
    else:
        _print(screen.console(), rows, result)
    click.get_current_context().exit(EXIT_STATUS[result.outcome])


def _rows(watched: Watched) -> Iterable[Row]:
    return timeline(watched) if watched.kept is not None else ()


def document(row: Row) -> dict[str, object]:
    """A row as JSON has it; the instant is in seconds."""
    return {
        "at": row.at / MILLISECONDS,
        "instance": row.instance,
        "what": row.what,
        "reply": row.reply,
        "status": row.status,
        "clauses": list(row.clauses),
    }


def _print(output: Console, rows: Sequence[Row], result: CheckResult) -> None:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("seconds", justify="right", no_wrap=True)
    for name in ("instance", "what happened", "reply", "status", "clauses"):
        table.add_column(name, overflow="fold")
    for row in rows:
        cells = (row.instance, row.what, row.reply, row.status, " ".join(row.clauses))
        table.add_row(f"{row.at / MILLISECONDS:.3f}", *(Text(_cut(each)) for each in cells))
    print_table(output, table)
    show(output, result, "the reference")
    screen.say(output, result.outcome, STYLE[result.outcome])


def _cut(text: str) -> str:
    plain = facts.plain(text)
    return plain if len(plain) <= SHOWN_CHARACTERS else plain[:SHOWN_CHARACTERS] + "..."
