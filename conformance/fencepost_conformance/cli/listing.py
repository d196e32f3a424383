"""`fencepost list`: what there is, as tables or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click
from fencepost_spec import schemas as documents
from fencepost_spec.catalogue import compare_source
from rich import box
from rich.table import Table
from rich.text import Text

from ..adapter import INSTRUMENTS
from ..faults import load, promises
from ..foreign.engines import HOSTS as FOREIGN
from ..hosts import BUILT_IN
from ..hosts.latitude import open_fields
from ..messages import messages as table_of_messages
from ..report import facts
from ..report.console import print_table
from ..verdict import standing
from . import screen, sources
from .trouble import Trouble, because, of_file

Row = dict[str, Any]

as_json = click.option("--json", "wants_json", is_flag=True, help="Print JSON instead of a table.")


@click.group(name="list")
def command() -> None:
    """List what there is: clauses, hosts, scenarios, messages, schemas and so on.

    \b
    Examples:
      fencepost list clauses
      fencepost list schemas --show adapter-exchange
      fencepost list scenarios --json
      fencepost list clauses --source DurableWorkflow.md
    """


@command.command()
@as_json
@click.option(
    "--source",
    metavar="FILE",
    help="Compare FILE, a copy of a source document, with the one that the clauses were written from.",
)
def clauses(wants_json: bool, source: str | None) -> None:
    """The clauses, how strong each is, and how many scenarios measure it.

    With --source the exit status is 0 when every sentence that a clause rests on is still there, and 1 when a
    clause has to be read again.
    """
    if source is not None:
        _compare(source, wants_json)
        return
    measuring = sources.measuring()
    rows = [
        {
            "clause": clause.id,
            "strength": clause.strength,
            "standing": standing(clause),
            "scenarios": len(measuring.get(clause.id, ())),
            "statement": clause.statement,
        }
        for clause in sources.catalogue().clauses.values()
    ]
    _print(rows, wants_json)


@command.command()
@as_json
def hosts(wants_json: bool) -> None:
    """The Hosts that come with the kit, each a HOST for 'fencepost check'.

    A Host of your own is python:MODULE:FACTORY, where FACTORY of your module makes its adapter; or
    'cmd:PROGRAM ARGUMENTS', a program in any language; or http://HOST:PORT, a server. Both speak the
    messages that 'fencepost list messages' shows.
    """
    foreign = {
        name: f"{engine.title}, {shim}: a foreign Host, which claims no Form ({engine.installation})"
        for name, (engine, shim) in FOREIGN.items()
    }
    rows = [{"host": name, "what it is": meaning} for name, meaning in {**BUILT_IN, **foreign}.items()]
    _print(rows, wants_json)


@command.command()
@as_json
def instruments(wants_json: bool) -> None:
    """What an adapter may offer, the methods that it needs, and the scenarios that use it."""
    scenarios = sources.shipped()
    rows = [
        {
            "instrument": name,
            "meaning": instrument.meaning,
            "methods": list(instrument.methods),
            "scenarios": sum(not each.words.isdisjoint(instrument.words) for each in scenarios),
        }
        for name, instrument in INSTRUMENTS.items()
    ]
    _print(rows, wants_json)


@command.command()
@as_json
def messages(wants_json: bool) -> None:
    """What the kit asks of an adapter in another process, and what each answer holds as "ok".

    A request is {"op": NAME, "ticket": N} with the arguments; 'fencepost list schemas' names the schemas.
    """
    rows = [
        {
            "op": each.op,
            "arguments": list(each.arguments),
            "ok": each.ok,
            "instrument": each.instrument,
            "meaning": each.meaning,
        }
        for each in table_of_messages()
    ]
    _print(rows, wants_json)


@command.command()
@as_json
@click.option("--show", metavar="NAME", type=click.Choice(documents.NAMES), help="Print one whole schema.")
def schemas(wants_json: bool, show: str | None) -> None:
    """The JSON Schemas of everything that crosses a border; with --show, one of them in full."""
    if show is not None:
        click.echo(json.dumps(documents.schema(show), indent=1))
        return
    _print([{"schema": name, "of": documents.schema(name)["title"]} for name in documents.NAMES], wants_json)


@command.command()
@as_json
def scenarios(wants_json: bool) -> None:
    """The scenarios of the kit, and the clauses that each measures."""
    rows = [
        {
            "scenario": each.id,
            "clauses": list(each.clauses),
            "title": each.title,
            "marks": [
                mark
                for mark, holds in (("heavy", each.heavy), ("reference only", each.for_reference))
                if holds
            ],
        }
        for each in sources.shipped()
    ]
    _print(rows, wants_json)


@command.command()
@as_json
def faults(wants_json: bool) -> None:
    """The faulty hosts, each a HOST for 'fencepost check', and the clauses that each breaks."""
    rows = [
        {
            "host": f"fault:{each.name}",
            "breaks": each.clause,
            "equally": list(each.also),
            "meaning": each.meaning,
        }
        for each in (*load().values(), *promises().values())
    ]
    _print(rows, wants_json)


@command.command()
@as_json
def latitudes(wants_json: bool) -> None:
    """The open points that a fair host may choose on, as HOSTs latitude:FIELD=CHOICE,FIELD=CHOICE."""
    rows = [
        {"field": each.name, "clause": each.clause, "choices": list(each.choices)}
        for each in open_fields().values()
    ]
    _print(rows, wants_json)


def _compare(source: str, wants_json: bool) -> None:
    try:
        report = compare_source(source)
    except OSError as error:
        raise of_file(source, error) from error
    except ValueError as error:
        raise Trouble(f"{source}: {because(error)}") from error
    if wants_json:
        changes = [
            {"change": each.change, "place": each.place, "now": each.now, "clauses": list(each.clauses)}
            for each in report.changes
        ]
        rows = {"source": report.source, "same": report.is_same, "sha256": report.sha256, "changes": changes}
        click.echo(json.dumps(rows, indent=1))
    else:
        for line in report.lines():
            screen.say(screen.console(), line)
    click.get_current_context().exit(1 if report.clauses else 0)


def _print(rows: Sequence[Row], wants_json: bool) -> None:
    if wants_json:
        click.echo(json.dumps(rows, indent=1))
        return
    table = Table(box=box.SIMPLE, pad_edge=False)
    for index, name in enumerate(rows[0] if rows else ()):
        table.add_column(name, no_wrap=index == 0)
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    print_table(screen.console(), table)


def _cell(value: Any) -> str:
    return facts.plain(", ".join(value) if isinstance(value, list) else str(value))
