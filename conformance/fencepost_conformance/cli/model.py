"""`fencepost model`: the TLA+ model checked, compared with the machine, weakened, explored and followed.

A CONFIG is the name of a configuration (`FencingSmall`) or a size (`Small`, `CI`, `Deep`), which stands for
every module that has it. Exit status 0: it holds; 1: it does not; 2: bad usage, or no Java.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from fencepost_model import check as checking
from fencepost_model import compare as comparing
from fencepost_model import configs, history, weakenings
from fencepost_model import explore as exploring
from fencepost_model import scenarios as paths
from fencepost_model import timeline as timelines
from fencepost_model import trace as tracing
from fencepost_model.graph import BrokenDump
from fencepost_model.messages import Entry, Progress
from fencepost_model.tlc import Timeout
from fencepost_model.tools import MissingTools
from rich import box
from rich.table import Table

from ..inprocess import InProcess
from ..report.console import print_table
from ..runner import run_scenario
from ..scenario import dumps
from ..timeline import Watched, timeline
from . import ask, screen, sources
from .trouble import Trouble, because, of_file

DEFAULT = "Small"
SECONDS_BETWEEN = 2.0  # of two lines of progress
EXIT_BROKEN = 1

_TROUBLES = (
    MissingTools,
    configs.UnknownConfiguration,
    comparing.NotComparable,
    BrokenDump,
    Timeout,
    history.UnreadableHistory,
)

Command = TypeVar("Command", bound=Callable[..., Any])


def _plain(command: Command) -> Command:
    """Turn what a user can get wrong into one line."""

    @wraps(command)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        try:
            return command(*arguments, **named)
        except _TROUBLES as error:
            raise Trouble(because(error)) from error

    return wrapped  # type: ignore[return-value]


@click.group(name="model")
def command() -> None:
    """The TLA+ model: check it, compare it with the machine, weaken it, follow a history.

    \b
    Check all properties by TLC:            fencepost model check CI
    Compare TLC's graph with the machine's: fencepost model compare CI
    The same properties without Java:       fencepost model explore
    """


def _chosen(config: str | None, comparable: bool = False) -> tuple[str, ...]:
    """The configurations of a name or a size."""
    wanted = config or DEFAULT
    if wanted not in configs.SIZES:
        return (configs.load(wanted).name,)
    found = tuple(name for name in configs.available() if name.endswith(wanted))
    return tuple(name for name in found if not comparable or configs.load(name).module in comparing.UNIVERSES)


class _Telling:
    """Progress on standard error: a line that is written over on a terminal, else one every few seconds."""

    def __init__(self, name: str) -> None:
        self.name, self.began = name, time.monotonic()
        self.told = self.began

    def __call__(self, text: str, states: int) -> None:
        now = time.monotonic()
        if now - self.told >= SECONDS_BETWEEN:
            self.told = now
            line = f"{self.name}: {text}, {states / (now - self.began):,.0f} a second"
            end = "\r" if sys.stderr.isatty() else "\n"
            print(line, end=end, file=sys.stderr, flush=True)

    def of_tlc(self, progress: Progress) -> None:
        """How far TLC is."""
        self(f"{progress.distinct:,} states, {progress.queue:,} on the queue", progress.distinct)


@contextmanager
def _telling(name: str) -> Iterator[_Telling]:
    told = _Telling(name)
    yield told
    if sys.stderr.isatty():
        print(" " * 78, end="\r", file=sys.stderr, flush=True)


@command.command()
@click.argument("config", required=False)
@click.option("--scenario", "file", type=click.Path(dir_okay=False), help="Write a counterexample here.")
@_plain
def check(config: str | None, file: str | None) -> None:
    """Check every property of CONFIG by TLC (by default: all of size Small)."""
    broken = False
    for name in _chosen(config):
        with _telling(name) as told:
            result = checking.check(name, told.of_tlc)
        click.echo(timelines.render(result))
        run, configuration = result.run, result.configuration
        if result.passed:
            named = (*configuration.invariants, *configuration.properties)
            figures = f"{run.generated:,} generated, depth {run.depth}, {run.seconds:.1f} s"
            click.echo(f"  {figures}; {len(named)} properties: {' '.join(named)}")
        elif file is not None:
            _write(file, name, run.trace)
        broken = broken or not result.passed
    _leave(broken)


@command.command()
@click.argument("config", required=False)
@_plain
def compare(config: str | None) -> None:
    """Compare TLC's graph of CONFIG with the machine's, node by node and edge by edge, both ways."""
    different = False
    for name in _chosen(config, comparable=True):
        with _telling(name) as told:
            graph = checking.explore(name, told.of_tlc)
            configuration = configs.load(name)
            found = comparing.held_against(
                graph,
                comparing.universe(configuration),
                configuration,
                lambda met, of: told(f"{met:,} of {of:,} nodes compared", met),
            )
        click.echo(comparing.render(found))
        different = different or not found.equal
    _leave(different)


@command.command()
@click.argument("config", required=False)
@click.option("--scenario", "file", type=click.Path(dir_okay=False), help="Write a counterexample here.")
@_plain
def explore(config: str | None, file: str | None) -> None:
    """Walk the machine within the bounds of CONFIG and check the same properties, without Java."""
    broken = False
    for name in _chosen(config, comparable=True):
        with _telling(name) as told:
            found = exploring.explore(
                name,
                lambda states, queue, depth: told(f"{states:,} states, {queue:,} on the queue", states),
            )
        click.echo(exploring.render(found))
        if not found.passed and file is not None:
            _write(file, name, found.trace)
        broken = broken or not found.passed
    _leave(broken)


@command.command()
@click.option("--module", type=click.Choice(weakenings.MODULES), help="Only the weakenings of one module.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1), help="Runs at once.")
@_plain
def weaken(module: str | None, workers: int) -> None:
    """Weaken the modules one line at a time: the property that each line serves must break."""
    chosen = [each for each in weakenings.table() if module in (None, each.module)]
    rows = []
    with screen.progress(len(chosen)) as advance:
        for row in weakenings.weaken(chosen=chosen, workers=workers):
            advance(row.weakening.name)
            rows.append(row)
    table = Table(box=box.SIMPLE, pad_edge=False)
    for column in ("module", "weakening", "property", "", "steps"):
        table.add_column(column, justify="right" if column == "steps" else "left")
    for row in rows:
        word = "broken" if row.caught else "HOLDS"
        weakening = row.weakening
        table.add_row(
            weakening.module, weakening.name, weakening.property, word, str(max(len(row.run.trace) - 1, 0))
        )
    print_table(screen.console(), table)
    caught = sum(row.caught for row in rows)
    click.echo(f"{caught} of {len(rows)} weakenings broke their property")
    _leave(caught < len(rows))


@command.command()
@click.argument("file")
@_plain
def trace(file: str) -> None:
    """Check the history in FILE as a behaviour of the modules that it touches.

    FILE is what 'fencepost ask --json' printed, or a scenario, a reproducer or the id of a shipped
    scenario, which is then run on the reference.
    """
    rows = history.rows(_recorded(file))
    refused = False
    lives = 0
    for found in tracing.follow(rows):
        lives += 1
        what = f"{found.instance} in {found.module}"
        if found.outside:
            click.echo(f"{what}: not spoken of: {found.outside}")
        elif found.refused is None:
            click.echo(f"{what}: accepted, {found.actions} actions")
        else:
            row, seconds = found.refused, found.refused.at / history.MILLISECONDS
            click.echo(f"{what}: refused at moment {row.number}, {seconds:.3f} s: {row.text}")
            click.echo(f"  answered {row.reply.name}, shown {row.status or 'nothing'}: not so in the module")
            refused = True
    if not lives:
        raise Trouble(f"{file}: no instance is created in it")
    _leave(refused)


def _recorded(file: str) -> Any:
    """The moments in a file, or those of the reference on a scenario."""
    if Path(file).is_file():
        try:
            document = json.loads(Path(file).read_text(encoding="utf-8"))
        except OSError as error:
            raise of_file(file, error) from error
        except ValueError as error:
            raise Trouble(f"{file}: no JSON: {because(error)}") from error
        if isinstance(document, list):
            return document
    watched = Watched()
    run_scenario(InProcess(watched), sources.scenario(file))
    if watched.kept is None:
        raise Trouble(f"{file}: the reference could not run it; see 'fencepost ask {file}'")
    return [ask.document(row) for row in timeline(watched)]


@command.command()
@click.argument("number", type=click.IntRange(1))
@click.option("--config", default="WaitsSmall", show_default=True, help="The configuration to walk.")
@click.option("--into", default=".", show_default=True, type=click.Path(file_okay=False), help="Where to.")
@_plain
def scenarios(number: int, config: str, into: str) -> None:
    """Write at most NUMBER judged scenarios that together cover each (action, status) edge class."""
    walked = comparing.universe(config)
    chosen = paths.paths(walked)
    classes = {each for path in chosen for each in path.classes}
    covered: set[paths.EdgeClass] = set()
    folder = Path(into)
    for index, path in enumerate(chosen[:number], 1):
        covered.update(path.classes)
        _save(folder / f"{config}-{index:02}.json", paths.scenario(walked, path, f"{config}, path {index}"))
    written = min(number, len(chosen))
    reached = f"on {len(covered)} of {len(classes)} edge classes"
    click.echo(f"{written} of {len(chosen)} scenarios written, {reached}")


def _write(file: str, name: str, trace: Sequence[Entry]) -> None:
    """Write a counterexample as a scenario that the kit can run."""
    try:
        walked = comparing.universe(name)
    except comparing.NotComparable as error:
        raise Trouble(f"no scenario for {name}: {because(error)}") from error
    path = paths.along(walked, trace)
    if path is None:
        raise Trouble(f"no scenario for {name}: the machine does not go the way of the counterexample")
    _save(Path(file), paths.scenario(walked, path, f"The counterexample of {name}"))
    click.echo(f"wrote {file}; run it with 'fencepost replay {file} HOST'")


def _save(path: Path, document: dict[str, Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dumps(document), encoding="utf-8")
    except OSError as error:
        raise of_file(path, error) from error


def _leave(broken: bool) -> None:
    click.get_current_context().exit(EXIT_BROKEN if broken else 0)
