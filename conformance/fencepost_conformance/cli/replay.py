"""`fencepost replay`: run one scenario again, and say which expectation did not hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from ..report import facts
from ..report.console import STYLE
from ..report.document import difference as difference_document
from ..reproducer import KEY
from ..results import CheckResult, Outcome
from . import connecting, screen, sources
from .trouble import Trouble

EXIT_STATUS: dict[Outcome, int] = {"passed": 0, "failed": 1, "errored": 2, "unmeasured": 3}


@click.command(name="replay")
@click.argument("file")
@click.argument("host", default=connecting.DEFAULT)
def command(file: str, host: str) -> None:
    """Run FILE against HOST (by default the reference), and name each expectation that did not hold.

    FILE is a scenario, a reproducer kept by 'fencepost check --keep', or the id of a shipped
    scenario. Exit status: 0 every expectation held, 1 one did not, 2 bad usage or a check
    that broke down, 3 HOST lacks an instrument.

    \b
    Examples:
      fencepost replay failures/WFE-tie.json python:my_host:Adapter
      fencepost replay worked/04-tie
    """
    scenario = sources.scenario(file)
    observed = _observed(file)
    with connecting.connect(host) as connected:
        if scenario.for_reference and not connected.is_ours:
            raise Trouble(f"{scenario.id} rests on choices of the reference: replay it on a Host of this kit")
        (result,) = connected.run([scenario], lambda result: None)
    output = screen.console()
    show(output, result, host)
    if observed:
        screen.say(output, _compared(observed, result))
    screen.say(output, result.outcome, STYLE[result.outcome])
    click.get_current_context().exit(EXIT_STATUS[result.outcome])


def _observed(file: str) -> dict[str, Any]:
    """What a reproducer file recorded; nothing for a bare scenario or a shipped one."""
    if not Path(file).is_file():
        return {}
    observed = json.loads(Path(file).read_text(encoding="utf-8")).get(KEY, {})
    return observed if isinstance(observed, dict) else {}


def show(output: Console, result: CheckResult, host: str) -> None:
    """Print what a check found: differences, missing instruments, choices of open points."""
    screen.say(output, f"{result.title} ({', '.join(result.clauses)}) on {host}")
    for difference in result.differences:
        screen.say(output, f"{difference.at} {difference.clause}: {difference.message}")
        screen.say(output, f"  expected {facts.value(difference.expected)}")
        screen.say(output, f"  seen     {facts.value(difference.seen)}")
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
