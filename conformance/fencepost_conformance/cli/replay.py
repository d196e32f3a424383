"""`fencepost replay`: run one scenario again, and say which expectation did not hold.

A reproducer is run several times, since a failure that comes and goes is news of its own.

| the runs | word | exit status |
|---|---|---|
| all passed | fixed | 0 |
| all failed | failed | 1 |
| none failed, and one broke down | errored | 2 |
| the Host lacks an instrument | unmeasured | 3 |
| some failed | flaky | 4 |
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import click
from rich.console import Console

from ..report import facts
from ..report.console import STYLE
from ..report.document import difference as difference_document
from ..reproducer import KEY
from ..results import CheckResult, Outcome
from . import connecting, screen, sources
from .trouble import Trouble

RUNS = 5  # of a reproducer
LINES_SHOWN = 40  # of what the adapter logged
EXIT_STATUS: dict[Outcome, int] = {"passed": 0, "failed": 1, "errored": 2, "unmeasured": 3}

Answer = Literal["fixed", "failed", "errored", "unmeasured", "flaky"]
EXIT_STATUS_OF_ANSWER: dict[Answer, int] = {
    "fixed": 0,
    "failed": 1,
    "errored": 2,
    "unmeasured": 3,
    "flaky": 4,
}
_STYLE_OF_ANSWER = {"fixed": STYLE["passed"], "flaky": STYLE["errored"]}


@click.command(name="replay")
@click.argument("file")
@click.argument("host", default=connecting.DEFAULT)
def command(file: str, host: str) -> None:
    """Run FILE against HOST (by default the reference), and name each expectation that did not hold.

    FILE is a scenario, a reproducer kept by 'fencepost check', or the id of a shipped scenario. A
    reproducer is run several times and is fixed, failed, flaky or errored.

    Exit status: 0 every expectation held or the failure is fixed, 1 one did not hold, 2 bad usage
    or a check that broke down, 3 HOST lacks an instrument, 4 it fails now and then.

    \b
    Examples:
      fencepost replay failures/WFE-tie.json python:my_host:Adapter
      fencepost replay worked/04-tie
    """
    scenario = sources.scenario(file)
    observed = _observed(file)
    runs = RUNS if observed or scenario.judged else 1
    with connecting.connect(host) as connected:
        if scenario.for_reference and not connected.is_ours:
            raise Trouble(f"{scenario.id} rests on choices of the reference: replay it on a Host of this kit")
        results = connected.run([scenario] * runs, lambda result: None)
    output = screen.console()
    worst = next((each for each in results if each.outcome == "failed"), results[0])
    show(output, worst, host)
    if observed:
        screen.say(output, _compared(observed, worst))
    if runs == 1:
        screen.say(output, worst.outcome, STYLE[worst.outcome])
        click.get_current_context().exit(EXIT_STATUS[worst.outcome])
    answer = answered([each.outcome for each in results])
    failed = sum(each.outcome == "failed" for each in results)
    screen.say(output, f"{failed} of {runs} runs failed")
    screen.say(output, answer, _STYLE_OF_ANSWER.get(answer) or STYLE[answer])
    click.get_current_context().exit(EXIT_STATUS_OF_ANSWER[answer])


def answered(outcomes: Sequence[Outcome]) -> Answer:
    """What several runs of one reproducer say together."""
    rows: tuple[tuple[bool, Answer], ...] = (
        (set(outcomes) == {"failed"}, "failed"),
        ("failed" in outcomes, "flaky"),
        ("errored" in outcomes, "errored"),
        ("unmeasured" in outcomes, "unmeasured"),
        (True, "fixed"),
    )
    return next(answer for holds, answer in rows if holds)


def _observed(file: str) -> dict[str, Any]:
    """What a reproducer file recorded; nothing for a bare scenario or a shipped one."""
    if not Path(file).is_file():
        return {}
    observed = json.loads(Path(file).read_text(encoding="utf-8")).get(KEY, {})
    return observed if isinstance(observed, dict) else {}


def show(output: Console, result: CheckResult, host: str) -> None:
    """Print what a check found: differences, missing instruments, choices of open points."""
    clauses = f" ({', '.join(result.clauses)})" if result.clauses else ""
    screen.say(output, f"{result.title}{clauses} on {host}")
    for difference in result.differences:
        screen.say(output, f"{difference.at} {difference.clause}: {difference.message}")
        screen.say(output, f"  expected {facts.value(difference.expected)}")
        screen.say(output, f"  seen     {facts.value(difference.seen)}")
    for line in result.log[-LINES_SHOWN:]:
        screen.say(output, f"  | {line}")
    if result.missing:
        screen.say(output, f"the Host lacks: {', '.join(result.missing)}")
    for line in result.detail.splitlines():
        screen.say(output, line)
    for clause, choice in sorted(result.choices.items()):
        screen.say(output, f"open {clause}: {choice}")


def _compared(observed: dict[str, Any], result: CheckResult) -> str:
    """Whether the recorded outcome was seen again; both sides are compared as JSON."""
    now = [json.loads(json.dumps(difference_document(each), default=repr)) for each in result.differences]
    if observed.get("outcome") == result.outcome and observed.get("differences") == now:
        return "the same as was recorded"
    return f"another outcome than was recorded ({observed.get('outcome')})"
