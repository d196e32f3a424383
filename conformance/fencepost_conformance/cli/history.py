"""`fencepost history`: what a Host keeps of a run, and the two questions of diagnosis, answered apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..report import facts
from ..report.console import STYLE, print_table
from . import screen, stored

Line = Mapping[str, Any]

FIRST = "Did an outside effect perhaps take place more than once?"
SECOND = "Was more than one outcome committed for one identity?"
MILLISECONDS = 1000


@click.command(name="history")
@click.argument("id")
@stored.options
@click.option("--json", "wants_json", is_flag=True, help="Print it as JSON, fencepost.history@1.")
def command(id: str, place: str, uid: str | None, wants_json: bool) -> None:
    """Print the typed history of the instance ID: what was committed, apart from what was delivered.

    Below stand two answers. That an effect was perhaps repeated is normal after a lost owner, and is for the
    application to bear. That more than one outcome was committed for one identity is a fault of the Host.

    Exit status: 0, or 1 if there is no such instance or more than one outcome for one identity; 2 bad usage
    or no database.

    \b
    Examples:
      fencepost history first --db report.db
      fencepost history first --db report.db --json
    """
    from fencepost.history import document

    with stored.host(place, uid) as host:
        found = stored.said(lambda: document(host.history(id)))
    if wants_json:
        click.echo(json.dumps(found, indent=1))
    else:
        show(screen.console(), found)
    click.get_current_context().exit(1 if found["committedTwice"] else 0)


def show(output: Console, found: Line) -> None:
    """Print a history."""
    created = datetime.fromtimestamp(found["createdAt"] / MILLISECONDS, UTC)
    screen.say(output, f"{found['instance']} of {found['resource']}: {found['run']}, {found['status']}")
    screen.say(output, f"created {created.isoformat(sep=' ', timespec='milliseconds')}")
    _table(output, "Committed", found, found["records"], "record")
    _table(output, "Delivered", found, found["deliveries"], "delivery")
    pending = [each for each in found["steps"] if not each["finished"]]
    _lines(output, "Pending", [_pending(each, found) for each in pending])
    _lines(
        output, "In the inbox", [f"event {each['event']} {_quoted(each['type'])}" for each in found["inbox"]]
    )
    _lines(output, "Commands", [f"{each['command']} {each['call']}" for each in found["commands"]])
    repeated, twice = found["perhapsRepeated"], found["committedTwice"]
    _lines(output, FIRST, [_repeated(each) for each in repeated] or ["no"])
    _lines(
        output,
        SECOND,
        [f"{each['identity']} has {each['outcomes']} outcomes" for each in twice] or ["no"],
        STYLE["failed"] if twice else "",
    )


def _table(output: Console, heading: str, found: Line, lines: Sequence[Line], kind: str) -> None:
    screen.say(output)
    screen.say(output, heading, "bold")
    if not lines:
        screen.say(output, "  nothing")
        return
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("seconds", justify="right", no_wrap=True)
    for name in ("what", "owner", "id"):
        table.add_column(name)
    for line in lines:
        owner, id = line.get("owner", ""), line.get("attempt") or line.get("execution") or ""
        cells = (_seconds(line["at"], found), _what(line, kind, found), str(owner), id)
        table.add_row(*(Text(facts.plain(cell)) for cell in cells))
    print_table(output, table)


def _seconds(at: int, found: Line) -> str:
    return f"{(at - found['createdAt']) / MILLISECONDS:.3f}"


def _what(line: Line, kind: str, found: Line) -> str:
    return _WORDS[kind, line[kind]](line, found)


_WORDS: Mapping[tuple[str, str], Callable[[Line, Line], str]] = {
    ("record", "attempt"): lambda line, _: (
        f"attempt {line['number']} of {_quoted(line['step'])} {line['outcome']}"
        + (", and so did the step" if line.get("settles") and line["number"] > 1 else "")
    ),
    ("record", "sleep"): lambda line, _: f"sleep {_quoted(line['step'])} ended",
    ("record", "event"): lambda line, _: (
        f"wait {_quoted(line['step'])} consumed event {line.get('event', '')}"
    ),
    ("record", "timeout"): lambda line, _: f"wait {_quoted(line['step'])} timed out",
    ("record", "end"): lambda line, _: f"the run ended: {line['outcome']}",
    ("delivery", "lease"): lambda line, found: (
        f"lease on {line.get('version', '')} until {_seconds(line['until'], found)}"
    ),
    ("delivery", "attempt"): lambda line, _: f"attempt {line['number']} of {_quoted(line['step'])}",
    ("delivery", "expiry"): lambda line, _: "the lease ran out",
    ("delivery", "loss"): lambda line, _: "the owner was lost",
    ("delivery", "late"): lambda line, _: f"a late report was refused: {line['report']}",
}


def _pending(step: Line, found: Line) -> str:
    until = f" until {_seconds(step['deadline'], found)}" if "deadline" in step else ""
    return f"{step['kind']} {_quoted(step['step'])}{until}  {step['execution']}"


def _repeated(each: Line) -> str:
    times = "once" if each["deliveries"] == 1 else f"{each['deliveries']} times"
    outcome = f"its outcome: {each['outcome']}" if each["outcome"] else "no outcome"
    late = "; an owner reported too late" if each["lateReport"] else ""
    return f"perhaps: {each['attempt']} was delivered {times}, {outcome}{late}"


def _lines(output: Console, heading: str, lines: Sequence[str], style: str = "") -> None:
    if lines:
        screen.say(output)
        screen.say(output, heading, "bold")
        for line in lines:
            screen.say(output, f"  {line}", style)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
