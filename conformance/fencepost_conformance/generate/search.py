"""Generates scenarios for one Host, until enough were tried or enough failures were found.

Hypothesis draws; what fails is cut off behind the entry that no Host may show, and `reduction` makes it small
for as long as the profile's time for that lasts. Of the failures that blame one clause the smallest is kept;
at the end all of them are looked at together, and the fewest clauses that explain them are blamed.
What ends a scenario from inside (it failed, or the adapter broke down) is no `Exception`, so that Hypothesis
lets it pass, and neither replays nor shrinks it: it would spend its time on what it drew, where most of it is
gone with a few entries.
"""

from __future__ import annotations

import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from .. import judging
from ..adapter import AdapterFault, Connection
from ..judging import Verdict
from ..reproducer import digest
from ..results import CheckResult
from ..run import break_off
from ..runner import greet, made, run_scenario
from ..scenario import Scenario, ScenarioError
from .compositions import ComposedMachine
from .coverage import Coverage
from .profiles import Profile
from .reduction import reduce, size
from .stage import Stage
from .watching import Watch

NAME = "generated"
NOT_AGAIN = "it did not fail again when it was replayed"
_DIGITS = 8
_SHARE = 3  # of the time that is left, one failure may take a third to become small
_LEAST_SECONDS = 2.0  # and this in any case
_LIKELY = 3  # of the clauses that speak against what was seen


class Failed(BaseException):
    """The scenario is not admitted, and that is its end."""


class Enough(BaseException):
    """No further scenario is wanted."""


@dataclass
class Found:
    """What came of it: failures and breakdowns as results, each with its scenario, and what was reached."""

    profile: str
    coverage: Coverage
    scenarios: list[Scenario] = field(default_factory=list)
    results: list[CheckResult] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class Failure:
    """A scenario that no Host may show, cut off behind the entry that says so."""

    document: dict[str, Any]
    verdict: Verdict


class Search(Watch):
    """One search on one Host; `most` failures, of a clause each, are enough."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        profile: Profile,
        progress: Callable[[str], None] = lambda name: None,
        *,
        most: int | None = None,
        turns: Iterator[int] | None = None,
        failures: dict[str, Failure] | None = None,
    ) -> None:
        """`turns` and `failures` may be those of several searches at once."""
        self.profile, self.progress, self.most = profile, progress, most
        self.turns = iter(range(profile.examples)) if turns is None else turns
        self.coverage = Coverage()
        self.failures = {} if failures is None else failures
        self.fault: tuple[dict[str, Any], str] | None = None
        self._connect = connect
        self._connection: Connection | None = None
        self._failure: Failure | None = None
        self._left = profile.shrink_seconds

    # What Hypothesis's machine tells

    def finished(self, stage: Stage) -> None:
        self.coverage.add(stage)

    def failed(self, stage: Stage, verdict: Verdict) -> None:
        self._failure = Failure(_cut(stage.document, verdict), verdict)
        raise Failed

    def broken(self, stage: Stage, fault: Exception) -> None:
        if isinstance(fault, AdapterFault | ScenarioError):
            detail = f"{fault}\n{getattr(fault, 'log', '')}".strip()
        else:
            lines = traceback.format_exception(fault)
            detail = f"the judge broke down: {type(fault).__name__}: {fault}\n{''.join(lines)}".strip()
        self.fault = (stage.document, detail)
        raise Enough

    # The search

    def run(self, number: int) -> Found:
        """Generate from a seed; raises AdapterFault where not even a connection can be had."""
        began = time.monotonic()
        try:
            self.generate(number)
            found = Found(self.profile.name, self.coverage)
            conclude(found, self.failures, lambda scenarios: [self._replayed(each) for each in scenarios])
            if self.fault is not None:
                conclude_fault(found, *self.fault)
        finally:
            self.close()
        found.seconds = time.monotonic() - began
        return found

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()

    def _replayed(self, scenario: Scenario) -> CheckResult:
        return run_scenario(self._live(), scenario)

    def generate(self, number: int) -> None:
        """One example after the other, each from a seed of its own; what failed is kept.

        Of many examples in one run Hypothesis makes most by repeating parts of others, which finds more of
        what a program has seen and less of what it has not.
        """
        try:
            for turn in self.turns:
                self._generate_one(f"{number}:{turn}")
                self.progress(NAME)
        except Enough:
            return

    def _generate_one(self, number: str) -> None:
        connection = self._live()
        handshake = greet(connection)
        made = 0

        @seed(number)
        def machine() -> ComposedMachine:
            nonlocal made
            made += 1
            return ComposedMachine(connection, handshake, self, idle=made == 1)

        try:
            run_state_machine_as_test(machine, settings=_settings(self.profile))  # type: ignore[arg-type]
        except Failed:
            assert self._failure is not None
            self._take(self._failure)

    def _live(self) -> Connection:
        if self._connection is None or self._connection.broken:
            self._connection = self._connect()
        return self._connection

    # A failure

    def _take(self, failure: Failure) -> None:
        """Make a failure small, unless one of its clause was found before, and keep it."""
        if failure.verdict.blamed() in self.failures:
            return
        smaller = self._reduced(failure)
        known = self.failures.get(smaller.verdict.blamed())
        if known is None or size(smaller.document) < size(known.document):
            self.failures[smaller.verdict.blamed()] = smaller
        if self.most is not None and len(self.failures) >= self.most:
            raise Enough

    def _reduced(self, failure: Failure) -> Failure:
        """The smallest scenario that fails in the same way; it may say better which clause is broken."""
        best = failure

        def fails(document: dict[str, Any]) -> bool:
            nonlocal best
            verdict = self._judged(document)
            if verdict is None or not _akin(verdict, failure.verdict):
                return False
            best = Failure(_cut(document, verdict), verdict)
            return True

        began = time.monotonic()
        if fails(failure.document):  # else what was seen is all there is
            reduce(failure.document, fails, max(self._left / _SHARE, _LEAST_SECONDS))
        self._left = max(self._left - (time.monotonic() - began), 0.0)
        return best

    def _judged(self, document: dict[str, Any]) -> Verdict | None:
        """What the judge says of a scenario that is run again; nothing where it cannot be."""
        connection, scenario = self._live(), Scenario(NAME, document)
        run = made(connection, greet(connection), scenario)
        try:
            run.play()
            return judging.admitted(scenario, run.observations, run.handshake)
        except AdapterFault:
            break_off(connection)
        except Exception:
            run.give_up()
        return None


def conclude(
    found: Found,
    failures: Mapping[str, Failure],
    replay: Callable[[list[Scenario]], list[CheckResult]],
) -> None:
    """Replay each failure, under the name of the clause to blame; what does not fail again is told all the
    same."""
    blamed = explained(failures.values())
    scenarios = [_named(failure, clause) for failure, clause in blamed]
    for (failure, clause), scenario, result in zip(blamed, scenarios, replay(scenarios), strict=True):
        if result.outcome != "failed":
            differences = failure.verdict.differences([clause])
            result = CheckResult(
                scenario.id, scenario.title, scenario.clauses, "failed", differences, detail=NOT_AGAIN
            )
        found.scenarios.append(scenario)
        found.results.append(result)


def _named(failure: Failure, clause: str) -> Scenario:
    title = f"Generated: {failure.verdict.message(clause)}"
    document = {**failure.document, "title": title, "clauses": [clause]}
    return Scenario(f"{NAME}/{clause}-{digest(document).removeprefix('sha256:')[:_DIGITS]}", document)


def conclude_fault(found: Found, document: dict[str, Any], detail: str) -> None:
    """Tell a breakdown of the adapter or the judge."""
    titled = {**document, "title": "Generated: the adapter or the judge broke down"}
    name = f"{NAME}/errored-{digest(titled).removeprefix('sha256:')[:_DIGITS]}"
    found.scenarios.append(Scenario(name, titled))
    found.results.append(CheckResult(name, titled["title"], (), "errored", detail=detail))


def explained(failures: Iterable[Failure]) -> list[tuple[Failure, str]]:
    """Each failure with the clause to blame for it: the fewest clauses that are likely for all of them."""
    left, found = list(failures), []
    while left:
        votes: dict[str, float] = defaultdict(float)
        for failure in left:
            for place, clause in enumerate(failure.verdict.clauses[:_LIKELY]):
                votes[clause] += 1 + (_LIKELY - place) / 100  # the place only decides between equals
        clause = max(votes, key=lambda each: votes[each])
        found += [(each, clause) for each in left if clause in each.verdict.clauses[:_LIKELY]]
        left = [each for each in left if clause not in each.verdict.clauses[:_LIKELY]]
    return found


def _cut(document: dict[str, Any], verdict: Verdict) -> dict[str, Any]:
    """The scenario up to the entry that no Host may show."""
    return {**document, "schedule": document["schedule"][: verdict.index + 1]}


def _akin(one: Verdict, other: Verdict) -> bool:
    """Whether two failures may be the same one, seen in a smaller scenario."""
    likely = set(one.clauses[:_LIKELY]) & set(other.clauses[:_LIKELY])
    return bool(likely) or (one.word, _kind(one.seen)) == (other.word, _kind(other.seen))


def _kind(seen: Any) -> Any:
    """What kind of answer was seen: without outputs, messages, figures."""
    if not isinstance(seen, dict):
        return seen if isinstance(seen, str) else None
    error = seen.get("error")
    reason = error.get("reason") if isinstance(error, dict) else error
    return (seen["status"], reason) if "status" in seen else reason or tuple(seen)


def _settings(profile: Profile) -> settings:
    return settings(
        max_examples=1,
        stateful_step_count=profile.steps,
        deadline=None,
        database=None,
        derandomize=False,
        phases=(Phase.generate,),
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
    most: int | None = None,
) -> Found:
    """Generate scenarios of a profile from a seed on a Host, and say what failed and what was reached.

    With `most`, so many failures end it.
    """
    return Search(connect, profile, progress, most=most).run(number)
