"""`fencepost check`: judge a Host, clause by clause."""

from __future__ import annotations

import random
import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import expected_failures, reproducer, verdict
from ..generate import profiles
from ..generate.profiles import PROFILES, Profile
from ..report import console as console_report
from ..report import coverage as coverage_report
from ..report import document as json_report
from ..report import html as html_report
from ..report import junit as junit_report
from ..report.model import Generated, HostFacts, Kit, Report, Selection
from ..results import CheckResult
from ..runner import AT_ONCE
from ..scenario import SUITES, Scenario, Suite
from . import adapter, connecting, pictures, screen, sources
from .trouble import Trouble, because, of_file

if TYPE_CHECKING:
    from ..generate.search import Found

LARGEST_SEED = 2**32 - 1
MOST_AT_ONCE = 64
DEFAULT_PLACE = Path("fencepost-failures")  # for generated scenarios, which exist nowhere else


@click.command(name="check")
@click.argument("host", default=connecting.DEFAULT)
@click.option(
    "--suite",
    type=click.Choice(list(SUITES)),
    default="form",
    show_default=True,
    help="Judge by the Form, or by what the reference promises beyond it (GRT); each has its own verdict.",
)
@click.option(
    "--clause",
    "clauses",
    multiple=True,
    metavar="GLOB",
    help="Judge only clauses whose id matches; repeatable.",
)
@click.option(
    "--scenario",
    "named",
    multiple=True,
    metavar="GLOB",
    help="Run only directed scenarios whose id matches; repeatable.",
)
@click.option(
    "--only",
    type=click.Choice(["directed", "generated"]),
    help="Run one part; without it both, or the directed one where a selection is made.",
)
@click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    default=profiles.DEFAULT,
    show_default=True,
    help="How much to generate.",
)
@click.option(
    "--check-adapter",
    is_flag=True,
    help="Judge nothing: hold the messages of both sides against their schemas, through every instrument.",
)
@click.option("--coverage", is_flag=True, help="Print what the generated scenarios exercised.")
@click.option("--no-heavy", is_flag=True, help="Leave out the scenarios with megabyte documents.")
@click.option(
    "--at-once",
    type=click.IntRange(1, MOST_AT_ONCE),
    default=AT_ONCE,
    show_default=True,
    metavar="N",
    help="Scenarios in progress at once on a Host without a clock, each on a connection of its own.",
)
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
    "--html",
    "html_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write one page for a browser, with a timeline of each failure.",
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
    suite: Suite,
    clauses: tuple[str, ...],
    named: tuple[str, ...],
    only: str | None,
    profile: str,
    check_adapter: bool,
    coverage: bool,
    no_heavy: bool,
    at_once: int,
    seed: int | None,
    json_path: Path | None,
    junit_path: Path | None,
    html_path: Path | None,
    expected_path: Path | None,
    keep: Path | None,
) -> None:
    """Judge HOST, clause by clause (by default the reference).

    First come the directed scenarios, each with its expectations, then generated ones, each judged by
    what any admissible Host may show. A generated failure is shrunk and kept as a file to replay.

    HOST is a name from 'fencepost list hosts', or your own: python:MODULE:FACTORY, an adapter in
    Python; 'cmd:PROGRAM ARGUMENTS', a program in any language; http://HOST:PORT, a server.
    On a Host without a clock to move, short scenarios are played on real time, several at once;
    the others stay unmeasured.

    Exit status: 0 qualified, 1 not qualified, 2 bad usage or a broken adapter, 3 incomplete.

    \b
    Examples:
      fencepost check
      fencepost check --check-adapter 'cmd:node host.mjs'
      fencepost check python:my_host:Adapter --json report.json --keep failures
      fencepost check python:my_host:Adapter --html report.html
      fencepost check python:my_host:Adapter --clause 'WFE-*' --clause EVT-3
      fencepost check python:my_host:Adapter --only generated --profile soak --seed 7
      fencepost check python:my_host:Adapter --expected-failures known.toml
      fencepost check reference-durable --suite guarantees
    """
    if check_adapter:
        adapter.run(host)
    expected = _expected(expected_path)
    for path in (json_path, junit_path, html_path):
        _writable(path)
    _directory(keep)
    parts = _parts(only, bool(clauses or named), no_heavy, suite)
    seed = _seed(seed, PROFILES[profile] if "generated" in parts else None)
    selection = Selection(clauses, named, not no_heavy, only or "")

    began, started = datetime.now(UTC), time.monotonic()
    with connecting.connect(host, at_once) as connected:
        ran = _run(connected, selection, parts, connected.profile(profile), seed, suite)
        facts = connected.facts
    seconds = time.monotonic() - started

    clauses_of_form, kit = sources.catalogue(), sources.kit()
    run = verdict.judge(clauses_of_form, ran.results, ran.clauses, suite)
    reproducers = _kept(keep, ran, kit, facts, seed)
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
        generated=ran.generated,
    )
    _write(json_path, json_report.render(report))
    _write(junit_path, junit_report.render(report))
    if html_path is not None:
        drawn = pictures.draw(facts, ran.scenarios, ran.results)
        _write(html_path, html_report.render(report, drawn))
    if coverage and ran.generated is not None:
        coverage_report.render(ran.generated, screen.console())
    console_report.render(report, screen.console())
    click.get_current_context().exit(report.exit_status)


@dataclass(frozen=True)
class Ran:
    """What both parts came to: results, the scenarios behind them, and the clauses to judge (None: all)."""

    results: tuple[CheckResult, ...]
    scenarios: tuple[Scenario, ...]
    clauses: frozenset[str] | None
    generated: Generated | None = None


def _parts(only: str | None, selected: bool, no_heavy: bool, suite: Suite) -> tuple[str, ...]:
    if suite != "form":
        if only == "generated":
            raise Trouble(f"--suite {suite} has directed scenarios alone; leave --only out")
        return ("directed",)
    if only == "generated" and (selected or no_heavy):
        raise Trouble("--only generated takes no --clause, --scenario or --no-heavy; leave them out")
    if only is not None:
        return (only,)
    return ("directed",) if selected else ("directed", "generated")


def _seed(given: int | None, profile: Profile | None) -> int:
    """The seed that was given, the one of a profile that always tries the same, or a drawn one."""
    if given is not None:
        return given
    if profile is not None and profile.fixed_seed:
        return profiles.FIXED_SEED
    return random.SystemRandom().randint(0, LARGEST_SEED)


def _run(
    connected: connecting.Connected,
    selection: Selection,
    parts: Collection[str],
    profile: Profile,
    seed: int,
    suite: Suite,
) -> Ran:
    """Run the directed scenarios in an order drawn from the seed, so that none leans on another; then
    generate."""
    chosen = sources.Chosen((), frozenset())
    if "directed" in parts:
        chosen = sources.choose(selection, connected.is_ours, suite)
    order = list(chosen.scenarios)
    random.Random(seed).shuffle(order)
    wanted = profile.examples if "generated" in parts else 0
    with screen.progress(len(order) + wanted) as advance:
        results = connected.run(order, lambda result: advance(result.scenario)) if order else []
        found = connected.generate(profile, seed, advance) if wanted else None
    directed = tuple(sorted(results, key=lambda result: result.scenario))
    return (
        Ran(directed, chosen.scenarios, chosen.clauses) if found is None else _both(directed, chosen, found)
    )


def _both(directed: tuple[CheckResult, ...], chosen: sources.Chosen, found: Found) -> Ran:
    """Directed results and generated ones. Alone, what was generated is judged by what it exercised."""
    reached = found.coverage.document()
    generated = Generated(
        found.profile, found.coverage.scenarios, found.coverage.entries, found.seconds, **reached
    )
    clauses = chosen.clauses
    passed: tuple[CheckResult, ...] = ()
    if not directed:
        clauses = frozenset(sources.catalogue().clauses.keys() & reached["clauses"].keys())
        exercised = tuple(sorted(clauses))
        title = f"{found.coverage.scenarios} generated scenarios"
        passed = (CheckResult("generated", title, exercised, "passed", seconds=found.seconds),)
    return Ran(
        (*directed, *passed, *found.results), (*chosen.scenarios, *found.scenarios), clauses, generated
    )


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


def _kept(keep: Path | None, ran: Ran, kit: Kit, host: HostFacts, seed: int) -> dict[str, str]:
    """Save each failing scenario with what was observed, generated ones in any case; the path by scenario."""
    documents = {scenario.id: scenario.document for scenario in ran.scenarios}
    shipped = {scenario.id for scenario in ran.scenarios if not scenario.judged}
    kept = {}
    for result in ran.results:
        if result.outcome not in ("failed", "errored") or (keep is None and result.scenario in shipped):
            continue
        place = keep or DEFAULT_PLACE
        _directory(place)
        made = reproducer.reproducer(documents[result.scenario], result, kit, host, seed)
        try:
            kept[result.scenario] = str(reproducer.save(place, made))
        except OSError as error:
            raise of_file(place, error) from error
    return kept
