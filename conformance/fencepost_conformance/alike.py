"""Runs of one scenario on fair hosts that are the same run.

A fair host is the reference under other choices of its open points, and it does the same whenever it is asked
the same: what it does on a scenario can only depend on the choices that it reads meanwhile. So two hosts that
agree in all that one of them has read go through the same run, step by step, and its result is that of both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .results import CheckResult
from .scenario import Scenario


@dataclass(frozen=True)
class _Run:
    """A run that passed, and the choices that were read in it."""

    scenario: Scenario
    read: Mapping[str, str]
    result: CheckResult


class Runs:
    """The runs that passed, by the id of their scenario; any other is made again for each host."""

    def __init__(self) -> None:
        self._passed: dict[str, list[_Run]] = {}

    def of(
        self, scenario: Scenario, choices: Mapping[str, str], read: set[str], run: Callable[[], CheckResult]
    ) -> CheckResult:
        """The result of a scenario on a host with these choices: that of a run that is the same one, or of
        `run`, after which `read` tells what was read."""
        known = self._passed.setdefault(scenario.id, [])
        for each in known:
            if each.scenario == scenario and each.read.items() <= choices.items():
                return each.result
        result = run()
        if result.outcome == "passed":
            known.append(_Run(scenario, {name: choices[name] for name in read}, result))
        return result
