"""Generates scenarios for one Host, until enough were tried or until failures have shrunk for long enough.

Hypothesis draws and shrinks; each clause that is blamed is a failure of its own, and the smallest scenario
of each is kept. Its reduction and its result are made at the end. What ends things from inside a scenario
(the adapter broke down, the first failure was enough, a failure has shrunk for long enough or is known) is
no `Exception`, so that Hypothesis lets it pass.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from ..adapter import AdapterFault, Connection
from ..judging import Verdict
from ..reproducer import digest
from ..results import CheckResult
from ..runner import greet, run_scenario
from ..scenario import Scenario, ScenarioError
from .coverage import Coverage
from .machine import ScenarioMachine
from .profiles import Profile
from .reduction import reduce, size
from .stage import Stage
from .watching import NotAdmitted, Watch

NAME = "generated"
_DIGITS = 8


class Enough(BaseException):
    """No further scenario is wanted."""


class LongEnough(BaseException):
    """A failure has shrunk for as long as it may."""


class Known(BaseException):
    """It failed in a way that was found and shrunk before."""


@dataclass
class Found:
    """What came of it: failures and breakdowns as results, each with its scenario, and what was reached."""

    profile: str
    coverage: Coverage
    scenarios: list[Scenario] = field(default_factory=list)
    results: list[CheckResult] = field(default_factory=list)
    seconds: float = 0.0


class Search(Watch):
    """One search on one Host."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        profile: Profile,
        progress: Callable[[str], None] = lambda name: None,
        *,
        first_only: bool = False,
    ) -> None:
        self.profile, self.progress, self.first_only = profile, progress, first_only
        self.coverage = Coverage()
        self._connect = connect
        self._connection: Connection | None = None
        self._smallest: dict[str, tuple[dict[str, Any], Verdict]] = {}
        self._fault: tuple[dict[str, Any], str] | None = None
        self._shrunk: set[str] = set()
        self._failed_at: float | None = None

    # What Hypothesis's machine tells

    def finished(self, stage: Stage) -> None:
        self.coverage.add(stage)
        if self._failed_at is not None and time.monotonic() - self._failed_at > self.profile.shrink_seconds:
            raise LongEnough

    def failed(self, stage: Stage, verdict: Verdict) -> None:
        clause = verdict.clauses[0]
        if clause in self._shrunk:
            raise Known
        document = {**stage.document, "schedule": stage.entries[: verdict.index + 1]}
        known = self._smallest.get(clause)
        if known is None or size(document) < size(known[0]):
            self._smallest[clause] = (document, verdict)
        self._failed_at = self._failed_at or time.monotonic()
        if self.first_only:
            raise Enough

    def broken(self, stage: Stage, fault: Exception) -> None:
        if isinstance(fault, AdapterFault | ScenarioError):
            detail = f"{fault}\n{getattr(fault, 'log', '')}".strip()
        else:
            lines = traceback.format_exception(fault)
            detail = f"the judge broke down: {type(fault).__name__}: {fault}\n{''.join(lines)}".strip()
        self._fault = (stage.document, detail)
        raise Enough

    # The search

    def run(self, number: int) -> Found:
        """Generate from a seed; raises AdapterFault where not even a connection can be had."""
        began = time.monotonic()
        try:
            self._generate(number)
            found = Found(self.profile.name, self.coverage)
            for document, verdict in self._smallest.values():
                self._conclude(found, self._reduced(document, verdict), verdict)
            if self._fault is not None:
                self._conclude_fault(found, *self._fault)
        finally:
            if self._connection is not None:
                self._connection.close()
        found.seconds = time.monotonic() - began
        return found

    def _generate(self, number: int) -> None:
        """One example after the other, each from a seed of its own.

        Of many examples in one run Hypothesis makes most by repeating parts of others, which finds more of
        what a program has seen and less of what it has not.
        """
        try:
            for turn in range(self.profile.examples):
                self._generate_one(f"{number}:{turn}")
                self.progress(NAME)
        except Enough:
            return

    def _generate_one(self, number: str) -> None:
        connection = self._live()
        handshake = greet(connection)
        made = 0

        @seed(number)
        def machine() -> ScenarioMachine:
            nonlocal made
            made += 1
            return ScenarioMachine(connection, handshake, self, idle=made == 1)

        self._failed_at = None
        try:
            run_state_machine_as_test(machine, settings=_settings(self.profile))  # type: ignore[arg-type]
        except (Known, LongEnough, NotAdmitted):
            pass
        except BaseExceptionGroup as group:
            if group.split((Known, LongEnough, NotAdmitted))[1] is not None:
                raise
        self._shrunk.update(self._smallest)

    def _live(self) -> Connection:
        if self._connection is None or self._connection.broken:
            self._connection = self._connect()
        return self._connection

    # A failure

    def _replayed(self, document: dict[str, Any]) -> CheckResult:
        return run_scenario(self._live(), Scenario(NAME, document))

    def _reduced(self, document: dict[str, Any], verdict: Verdict) -> dict[str, Any]:
        """The smallest scenario that blames the same clause first."""

        def fails(candidate: dict[str, Any]) -> bool:
            result = self._replayed(candidate)
            return result.outcome == "failed" and result.differences[0].clause == verdict.clauses[0]

        if self.first_only or not fails(document):  # it does not fail again: what was seen is all there is
            return document
        return reduce(document, fails, self.profile.shrink_seconds)

    def _conclude(self, found: Found, document: dict[str, Any], verdict: Verdict) -> None:
        result = self._replayed(document)
        if result.outcome != "failed":
            detail = "it did not fail again when it was replayed"
            result = CheckResult(NAME, NAME, verdict.clauses, "failed", verdict.differences(), detail=detail)
        clauses = tuple(dict.fromkeys(each.clause for each in result.differences))
        titled = {
            **document,
            "title": f"Generated: {result.differences[0].message}",
            "clauses": list(clauses),
        }
        name = f"{NAME}/{clauses[0]}-{digest(titled).removeprefix('sha256:')[:_DIGITS]}"
        found.scenarios.append(Scenario(name, titled))
        found.results.append(
            CheckResult(
                name,
                titled["title"],
                clauses,
                "failed",
                result.differences,
                detail=result.detail,
                seconds=result.seconds,
                observations=result.observations,
            )
        )

    def _conclude_fault(self, found: Found, document: dict[str, Any], detail: str) -> None:
        titled = {**document, "title": "Generated: the adapter or the judge broke down"}
        name = f"{NAME}/errored-{digest(titled).removeprefix('sha256:')[:_DIGITS]}"
        found.scenarios.append(Scenario(name, titled))
        found.results.append(CheckResult(name, titled["title"], (), "errored", detail=detail))


def _settings(profile: Profile) -> settings:
    return settings(
        max_examples=1,
        stateful_step_count=profile.steps,
        deadline=None,
        database=None,
        derandomize=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
    )


def search(
    connect: Callable[[], Connection],
    profile: Profile,
    number: int,
    progress: Callable[[str], None] = lambda name: None,
    *,
    first_only: bool = False,
) -> Found:
    """Generate scenarios of a profile from a seed on a Host, and say what failed and what was reached.

    With `first_only` the first failure ends it, unshrunk.
    """
    return Search(connect, profile, progress, first_only=first_only).run(number)
