"""`fencepost check`: judge a Host, clause by clause."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from .. import expected_failures, reproducer, verdict
from ..report import console as console_report
from ..report import document as json_report
from ..report import junit as junit_report
from ..report.model import HostFacts, Kit, Report, Selection
from ..results import CheckResult
from ..scenario import Scenario
from . import connecting, screen, sources
from .trouble import Trouble, because, of_file

LARGEST_SEED = 2**32 - 1


@click.command(name="check")
@click.argument("host", default=connecting.DEFAULT)
@click.option(
    "--clause",
    "clauses",
    multiple=True,
    metavar="GLOB",
    help="Judge only clauses whose id matches; repeatable.",
)
@click.option(
    "--only", "only", multiple=True, metavar="GLOB", help="Run only scenarios whose id matches; repeatable."
)
@click.option("--no-heavy", is_flag=True, help="Leave out the scenarios with megabyte documents.")
@click.option(
    "--seed",
    type=click.IntRange(0, LARGEST_SEED),
    help="Repeat a run; without it a seed is drawn and printed.",
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the whole report as JSON.",
)
@click.option(
    "--junit",
    "junit_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write JUnit XML, one test case a clause.",
)
@click.option(
    "--expected-failures",
    "expected_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Known failures (TOML or JSON): they change the exit status, never the verdict.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep each failing scenario with what was observed.",
)
def command(
    host: str,
    clauses: tuple[str, ...],
    only: tuple[str, ...],
    no_heavy: bool,
    seed: int | None,
    json_path: Path | None,
    junit_path: Path | None,
    expected_path: Path | None,
    keep: Path | None,
) -> None:
    """Judge HOST, clause by clause (by default the reference).

    HOST is a name from 'fencepost list hosts', or your own adapter as python:MODULE:FACTORY.
    Exit status: 0 qualified, 1 not qualified, 2 bad usage or a broken adapter, 3 incomplete.

    \b
    Examples:
      fencepost check
      fencepost check python:my_host:Adapter --json report.json --keep failures
      fencepost check python:my_host:Adapter --clause 'WFE-*' --clause EVT-3
      fencepost check python:my_host:Adapter --expected-failures known.toml
    """
    expected = _expected(expected_path)
    for path in (json_path, junit_path):
        _writable(path)
    _directory(keep)
    seed = random.SystemRandom().randint(0, LARGEST_SEED) if seed is None else seed
    selection = Selection(clauses, only, not no_heavy)

    began, started = datetime.now(UTC), time.monotonic()
    with connecting.connect(host) as connected:
        chosen = sources.choose(selection, connected.is_ours)
        results = _run(connected, chosen.scenarios, seed)
        facts = connected.facts
    seconds = time.monotonic() - started

    clauses_of_form, kit = sources.catalogue(), sources.kit()
    run = verdict.judge(clauses_of_form, results, chosen.clauses)
    reproducers = _kept(keep, chosen.scenarios, results, kit, facts, seed)
    report = Report(
        kit=kit,
        host=facts,
        seed=seed,
        selection=selection,
        run=run,
        started_at=began.strftime("%Y-%m-%dT%H:%M:%SZ"),
        exit_status=expected_failures.exit_status(clauses_of_form, run, expected),
        seconds=seconds,
        expected=expected,
        expected_problems=expected_failures.problems(clauses_of_form, run, expected),
        reproducers=reproducers,
    )
    _write(json_path, json_report.render(report))
    _write(junit_path, junit_report.render(report))
    console_report.render(report, screen.console())
    click.get_current_context().exit(report.exit_status)


def _run(
    connected: connecting.Connected, scenarios: Sequence[Scenario], seed: int
) -> tuple[CheckResult, ...]:
    """Run the scenarios in an order drawn from the seed, so that none leans on another."""
    order = list(scenarios)
    random.Random(seed).shuffle(order)
    with screen.progress(len(order)) as advance:
        results = connected.run(order, lambda result: advance(result.scenario))
    return tuple(sorted(results, key=lambda result: result.scenario))


def _expected(path: Path | None) -> tuple[expected_failures.ExpectedFailure, ...]:
    if path is None:
        return ()
    try:
        return expected_failures.load(path)
    except OSError as error:
        raise of_file(path, error) from error
    except expected_failures.BadExpectedFailures as error:
        raise Trouble(because(error)) from error


def _writable(path: Path | None) -> None:
    """Refuse a report path that cannot be written, before the run and not after it."""
    if path is None:
        return
    try:
        path.open("a").close()
    except OSError as error:
        raise of_file(path, error) from error


def _directory(path: Path | None) -> None:
    if path is None:
        return
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise of_file(path, error) from error


def _write(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise of_file(path, error) from error


def _kept(
    keep: Path | None,
    scenarios: Sequence[Scenario],
    results: Sequence[CheckResult],
    kit: Kit,
    host: HostFacts,
    seed: int,
) -> dict[str, str]:
    """Save each failing scenario with what was observed; the path by scenario."""
    if keep is None:
        return {}
    documents = {scenario.id: scenario.document for scenario in scenarios}
    kept = {}
    for result in results:
        if result.outcome in ("failed", "errored"):
            made = reproducer.reproducer(documents[result.scenario], result, kit, host, seed)
            try:
                kept[result.scenario] = str(reproducer.save(keep, made))
            except OSError as error:
                raise of_file(keep, error) from error
    return kept
