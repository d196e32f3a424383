"""`fencepost self-test`: try the kit itself, on hosts that are known to be faulty and on hosts known to be
fair."""

from __future__ import annotations

import fnmatch
import json
import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TypeVar

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..faults import load
from ..hosts import latitude
from ..report import facts, kill_table, teeth
from ..report.console import STYLE, print_table
from ..selftest import SCOPES, SEED, Fairness, Job, Kill, Result, Scope, Teeth, do
from . import screen
from .trouble import Trouble, of_file


@click.command(name="self-test")
@click.option(
    "--profile",
    type=click.Choice(list(SCOPES)),
    default="ci",
    help="How many fair hosts are tried, and with which scenarios.",
)
@click.option(
    "--only",
    type=click.Choice(["generated"]),
    help="Measure what generated scenarios of the profile find alone; with it only faulty hosts are tried.",
)
@click.option("--fault", "faults", metavar="GLOB", help="Try only faulty hosts whose name or clause matches.")
@click.option("--latitude", "latitudes", metavar="GLOB", help="Try only fair hosts whose name matches.")
@click.option("--seed", type=int, default=SEED, help="Draw other combinations of choices.", show_default=True)
@click.option("--jobs", type=click.IntRange(1), help="Processes; by default one for each processor.")
@click.option(
    "--json", "json_path", type=click.Path(path_type=Path), metavar="FILE", help="Write all of it as JSON."
)
@click.option(
    "--page",
    "page_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the kill table as a page in Markdown.",
)
@click.option(
    "--teeth",
    "teeth_path",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Add to the page what --only generated wrote as JSON.",
)
def command(
    profile: str,
    only: str | None,
    faults: str | None,
    latitudes: str | None,
    seed: int,
    jobs: int | None,
    json_path: Path | None,
    page_path: Path | None,
    teeth_path: Path | None,
) -> None:
    """Try the kit: every faulty host must be caught and rightly blamed, every fair one must qualify.

    A faulty host is the reference with one rule broken; a fair one is the reference under other choices of
    the points that the Form leaves open. With --fault or --latitude alone only hosts of that kind are tried.
    Exit status: 0 all of it holds, 1 a fault was missed or wrongly blamed, or there was a false alarm.

    With --only generated the faulty hosts are given generated scenarios of the profile, and nothing else,
    until one fails: the table says of each fault whether it was caught, after how many scenarios, and
    which clause was blamed. That is a measurement, and its exit status is 0.

    \b
    Examples:
      fencepost self-test
      fencepost self-test --only generated --profile quick
      fencepost self-test --fault 'WFE-*'
      fencepost self-test --latitude 'clock=*' --profile quick
    """
    scope = SCOPES[profile]
    if only is not None and (latitudes or page_path or teeth_path):
        raise Trouble("--only generated takes no --latitude, --page or --teeth; leave them out")
    generated = _teeth(teeth_path)
    if only is None:
        work = list(chosen(scope, faults, latitudes, seed))
    else:
        faulty = chosen(scope, faults or "*", None, seed)
        work = [Job("teeth", each.name, 0, profile, seed) for each in faulty]
    began = time.monotonic()
    with screen.progress(len(work)) as advance:
        found = []
        for result in run(work, scope, jobs or os.cpu_count() or 1):
            found.append(result)
            advance(result.host if isinstance(result, Fairness) else result.fault)
    if only is not None:
        bites = sorted_by_table([each for each in found if isinstance(each, Teeth)])
        measured = teeth.document(profile, seed, bites, time.monotonic() - began)
        _write(json_path, json.dumps(measured, indent=1) + "\n")
        show_teeth(screen.console(), measured)
        return
    kills = sorted_by_table([each for each in found if isinstance(each, Kill)])
    fair = sorted_hosts(found)
    made = kill_table.document(profile, kills, fair, time.monotonic() - began)
    _write(json_path, json.dumps(made, indent=1) + "\n")
    _write(page_path, kill_table.page(made, f"fencepost self-test --profile {profile}", generated))
    show(screen.console(), kills, fair, made)
    click.get_current_context().exit(0 if all_passed(kills, fair) else 1)


def chosen(scope: Scope, faults: str | None, latitudes: str | None, seed: int) -> Iterator[Job]:
    """The jobs of a run; trouble where a glob matches nothing."""
    table = load()
    if faults is not None or latitudes is None:
        names = [
            name for name, each in table.items() if _matches(name, faults) or _matches(each.clause, faults)
        ]
        if not names:
            raise Trouble(f"--fault {faults}: no such faulty host; see 'fencepost list faults'")
        yield from (Job("fault", name) for name in names)
    if latitudes is not None or faults is None:
        hosts = [*latitude.singles(), *latitude.combinations(scope.combinations, seed)]
        picked = [(place, host) for place, host in enumerate(hosts) if _matches(host, latitudes)]
        if not picked:
            raise Trouble(f"--latitude {latitudes}: no such fair host; see 'fencepost list latitudes'")
        yield from (Job("latitude", f"latitude:{host}", place) for place, host in picked)


def _matches(name: str, glob: str | None) -> bool:
    return glob is None or fnmatch.fnmatchcase(name, glob)


def run(work: Sequence[Job], scope: Scope, processes: int) -> Iterable[Result]:
    """Do the jobs, each result as it comes; in this process where one is enough."""
    if processes == 1 or len(work) == 1:
        yield from (do(job, scope) for job in work)
        return
    context = multiprocessing.get_context("spawn")  # a fork would inherit whatever threads there are
    with ProcessPoolExecutor(min(processes, len(work)), mp_context=context) as pool:
        for future in as_completed([pool.submit(do, job, scope) for job in work]):
            yield future.result()


def all_passed(kills: Sequence[Kill], fair: Sequence[Fairness]) -> bool:
    """Whether every faulty host was caught and rightly blamed, and every fair one left alone."""
    return all(each.passed for each in kills) and all(each.passed for each in fair)


Faulty = TypeVar("Faulty", Kill, Teeth)


def sorted_by_table(found: Iterable[Faulty]) -> list[Faulty]:
    """The faulty hosts in the order of the table."""
    order = {name: place for place, name in enumerate(load())}
    return sorted(found, key=lambda each: order.get(each.fault, len(order)))


def sorted_hosts(found: Iterable[Result]) -> list[Fairness]:
    """The fair hosts, false alarms first."""
    fair = [each for each in found if isinstance(each, Fairness)]
    return sorted(fair, key=lambda each: (each.passed, each.host))


def show(output: Console, kills: Sequence[Kill], fair: Sequence[Fairness], made: kill_table.Document) -> None:
    """Print the kill table, what was missed, the false alarms, and the figures."""
    if kills:
        table = Table(box=box.SIMPLE, pad_edge=False)
        for name in ("fault", "breaks", "caught by", "blamed", "scenario", "size"):
            table.add_column(name, no_wrap=name == "fault")
        for each in kills:
            cells = (
                each.fault,
                each.clause,
                each.by or "missed",
                each.blamed,
                each.scenario,
                str(each.size or ""),
            )
            table.add_row(*(Text(cell) for cell in cells), style=None if each.passed else STYLE["failed"])
        print_table(output, table)
    for each in kills:
        if not each.passed:
            screen.say(output, f"MISSED fault:{each.fault} ({each.clause}): {each.meaning}", STYLE["failed"])
            for other in each.others[:5]:
                screen.say(output, f"  blamed otherwise: {other}")
    for host in fair:
        if not host.passed:
            screen.say(output, f"FALSE ALARM {host.host}: {host.verdict}", STYLE["failed"])
            for alarm in host.alarms[:5]:
                screen.say(output, f"  {facts.plain(alarm)}")
    screen.say(output, f"{kill_table.numbers(made)}; {made['seconds']:.0f} s")


_STYLE_OF_STANDING = {"rightly": None, "named": STYLE["unmeasured"]}


def show_teeth(output: Console, measured: teeth.Document) -> None:
    """Print what generated scenarios found alone, and the figures."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in ("fault", "breaks", "caught", "blamed", "after", "size"):
        table.add_column(name, no_wrap=name == "fault")
    for row in measured["faults"]:
        word = teeth.standing(row)
        after, size = (str(row[key]) if row["caught"] else "" for key in ("scenarios", "size"))
        cells = (row["fault"], row["clause"], word, row["blamed"], after, size)
        table.add_row(*map(Text, cells), style=_STYLE_OF_STANDING.get(word, STYLE["failed"]))
    print_table(output, table)
    for row in measured["faults"]:
        if row["detail"]:
            screen.say(output, f"fault:{row['fault']}: {facts.plain(row['detail'])}", STYLE["errored"])
    screen.say(output, f"{teeth.numbers(measured)}; {measured['seconds']:.0f} s")


def _teeth(path: Path | None) -> teeth.Document | None:
    if path is None:
        return None
    try:
        found: teeth.Document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Trouble(f"{path} cannot be read as JSON; write it with --only generated --json") from error
    if not isinstance(found, dict) or found.get("format") != teeth.FORMAT:
        raise Trouble(f"{path} is not what --only generated --json writes")
    return found


def _write(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise of_file(path, error) from error
