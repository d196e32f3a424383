"""The kit, tried: does it catch every faulty host, and does it leave every fair one alone?

**Faults.** The scenarios are run on a faulty host, those first that name a clause that it breaks, until a
failed check blames such a clause: that is a *kill*. A blame of any other clause alone is a miss, for a kit
that points at the wrong sentence helps nobody. What no directed scenario kills is left to generated ones.

**Fair hosts.** Every scenario that is fair to every Host is run on the reference under every other choice of
every open point, one at a time and in random combinations. A few scenarios are generated
for each as well. Any check that does not pass is a false alarm. Scenarios that move megabytes of digits and
escapes are run on every eighth of them, for they take as long as all the others together. A host that agrees
with an earlier one in every choice that a scenario has read is not given that scenario again (`alike`).

**Teeth.** How much generated scenarios find alone is measured apart: a faulty host is given them until one
fails, and that is made small. Which clause it blames is what a user would have read. A miss is no failure of
the self-test, for not every fault shows in what is generated.

A job is a name, so that any process can do it; a host that never comes back is interrupted.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from fencepost_spec import catalogue

from . import verdict
from .adapter import Connection
from .alike import Runs
from .expectations import alternatives
from .faults import Fault, load
from .hosts import latitude, resolve
from .inprocess import InProcess
from .results import CheckResult
from .runner import run_scenario
from .scenario import Scenario, shipped

By = Literal["directed", "generated", ""]

SCENARIO_SECONDS = 60.0
SEARCH_SECONDS = 900.0
COSTLY = ("DOC/bytes-of-numbers", "DOC/bytes-of-text", "EVT/byte-bound-counts-canonical-form")
COSTLY_EVERY = 8
SEED = 1


@dataclass(frozen=True)
class Scope:
    """How much a self-test tries.

    `combinations` of choices; with `heavy` scenarios too; `searched` and `generated` are the scenarios that
    are generated for each faulty host that no directed one kills, and for each fair host.
    """

    name: str
    combinations: int
    heavy: bool
    searched: int
    generated: int


SCOPES = {
    each.name: each
    for each in (
        Scope("quick", 10, False, 100, 0),
        Scope("ci", 60, True, 600, 3),
        Scope("soak", 300, True, 6000, 40),
    )
}


@dataclass(frozen=True)
class Kill:
    """What became of one faulty host: who caught it, which clause was blamed, in which scenario of what size.

    `size` counts entries of a schedule; `others` are checks that failed before and blamed no right clause.
    """

    fault: str
    clause: str
    also: tuple[str, ...]
    meaning: str
    by: By = ""
    blamed: str = ""
    scenario: str = ""
    size: int = 0
    others: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether the host was caught and rightly blamed."""
        return bool(self.by)


@dataclass(frozen=True)
class Fairness:
    """What became of one fair host: the verdict, and each check that should have passed."""

    host: str
    verdict: str
    alarms: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether it came out qualified."""
        return not self.alarms and self.verdict == "qualified"


@dataclass(frozen=True)
class Teeth:
    """What generated scenarios alone found of one faulty host: after how many of them, and the clause that
    the failure blames, with those that it names besides; `size` counts entries of its schedule."""

    fault: str
    clause: str
    also: tuple[str, ...]
    meaning: str
    profile: str
    blamed: str = ""
    named: tuple[str, ...] = ()
    scenarios: int = 0
    size: int = 0
    detail: str = ""
    seconds: float = 0.0

    @property
    def caught(self) -> bool:
        """Whether a scenario failed."""
        return bool(self.blamed)

    @property
    def rightly(self) -> bool:
        """Whether the clause that is blamed is one that the host breaks."""
        return self.blamed in (self.clause, *self.also)


class Interrupted(BaseException):
    """A host has not come back in time."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Interrupt what takes longer, again and again, where the system and the thread allow it."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def interrupt(*_: Any) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # an application's code may swallow the first
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Bench:
    """Runs scenarios on one host after the other, with a new connection after each that broke down."""

    def __init__(self, connect: Callable[[], Connection], seconds: float = SCENARIO_SECONDS) -> None:
        self._connect, self._seconds = connect, seconds
        self._connection: Connection | None = None

    def run(self, scenario: Scenario) -> CheckResult:
        """The result of one scenario; errored where the host never came back."""
        if self._connection is None or self._connection.broken:
            self._connection = self._connect()
        try:
            with limited(self._seconds):
                return run_scenario(self._connection, scenario)
        except Interrupted:
            self._connection = None
            detail = f"the host did not come back within {self._seconds:g} s"
            return CheckResult(scenario.id, scenario.title, scenario.clauses, "errored", detail=detail)


# Faulty hosts


def kill(fault: Fault, scope: Scope, scenarios: Sequence[Scenario] | None = None) -> Kill:
    """Run the kit against a faulty host until a check blames a right clause."""
    began = time.perf_counter()
    scenarios = shipped() if scenarios is None else scenarios
    bench, others = Bench(lambda: InProcess(fault.make())), []
    result: dict[str, Any] = {}
    for scenario in sorted(scenarios, key=lambda each: _promise(each, fault)):
        if scenario.for_reference and fault.elsewhere:
            continue
        found = bench.run(scenario)
        blamed = next((each.clause for each in found.differences if each.clause in fault.blamable), None)
        if found.outcome == "failed" and blamed is not None:
            result = {"by": "directed", "blamed": blamed, "scenario": scenario.id}
            result["size"] = len(scenario.schedule)
            break
        if found.outcome in ("failed", "errored"):
            others.append(_seen(found))
    result = result or _generated(fault, scope, others)
    return Kill(
        fault.name,
        fault.clause,
        fault.also,
        fault.meaning,
        others=tuple(others),
        seconds=time.perf_counter() - began,
        **result,
    )


def _promise(scenario: Scenario, fault: Fault) -> tuple[bool, bool, bool, bool, bool]:
    """How soon a scenario is tried: those that blame the clause first, megabytes last."""
    blames = blamed_clauses(scenario)
    return (
        fault.clause not in blames,
        not fault.blamable & blames,
        not fault.blamable & set(scenario.clauses),
        scenario.heavy,
        scenario.id in COSTLY,
    )


def blamed_clauses(scenario: Scenario) -> frozenset[str]:
    """Every clause that an expectation of a scenario may blame."""
    named = {scenario.clauses[0]}
    for entry in scenario.schedule:
        forms = alternatives(entry.get("expect") or {})
        named.update(each["clause"] for each in (entry, *forms) if "clause" in each)
    return frozenset(named)


def _generated(fault: Fault, scope: Scope, others: list[str]) -> dict[str, Any]:
    if not scope.searched:
        return {}
    from .generate.profiles import Profile
    from .generate.search import search

    profile = Profile("self-test", scope.searched, 20, 20.0)
    with limited(SCENARIO_SECONDS * 3):
        found = search(lambda: InProcess(fault.make()), profile, SEED)
    sizes = {each.id: len(each.schedule) for each in found.scenarios}
    for result in found.results:
        for difference in result.differences:
            if difference.clause in fault.blamable:
                size = sizes.get(result.scenario, 0)
                blamed = difference.clause
                return {"by": "generated", "blamed": blamed, "scenario": result.scenario, "size": size}
        others.append(_seen(result))
    return {}


def _seen(result: CheckResult) -> str:
    clauses = sorted({each.clause for each in result.differences})
    return f"{result.scenario} {', '.join(clauses) or result.detail.splitlines()[0]}"


# Fair hosts


def fairness(
    host: str,
    scope: Scope,
    place: int = 0,
    scenarios: Sequence[Scenario] | None = None,
    runs: Runs | None = None,
) -> Fairness:
    """Run the kit against the fair host that a HOST string names; `place` is its place among all of them,
    and `runs` are those of hosts before it."""
    began = time.perf_counter()
    name = host.removeprefix("latitude:")
    run = Bench(resolve(host)).run if runs is None or name == host else _sparing(name, runs)
    chosen = [
        each
        for each in (shipped() if scenarios is None else scenarios)
        if not each.for_reference
        and (scope.heavy or not each.heavy)
        and (each.id not in COSTLY or not place % COSTLY_EVERY)
    ]
    results = [run(each) for each in chosen]
    alarms = [_alarm(each) for each in results if each.outcome != "passed"]
    alarms += _generated_alarms(host, scope, place)
    measured = frozenset(clause for each in chosen for clause in each.clauses)
    judged = verdict.judge(catalogue.load(), results, None if scope.heavy and scenarios is None else measured)
    return Fairness(host, judged.verdict, tuple(alarms), time.perf_counter() - began)


def _sparing(name: str, runs: Runs) -> Callable[[Scenario], CheckResult]:
    """Runs a scenario on a fair host, unless a host that is like it has gone through the same run."""
    choices, read = latitude.choices(name), set[str]()
    bench = Bench(lambda: InProcess(latitude.make(name, read)))
    return lambda scenario: runs.of(scenario, choices, read, lambda: bench.run(scenario))


def _generated_alarms(host: str, scope: Scope, place: int) -> list[str]:
    if not scope.generated:
        return []
    from .generate.profiles import Profile
    from .generate.search import search

    profile = Profile("self-test", scope.generated, 15, 5.0)
    found = search(resolve(host), profile, SEED + place)  # each host has scenarios of its own
    return [_alarm(each) for each in found.results if each.outcome != "passed"]


def _alarm(result: CheckResult) -> str:
    first = next(iter(result.differences), None)
    said = (
        result.detail.splitlines()[:1]
        if first is None
        else [f"{first.clause} at {first.at}: {first.message}"]
    )
    return f"{result.scenario} {result.outcome}: {' '.join(said) or ', '.join(result.missing)}"


# Teeth


def teeth(fault: Fault, profile: str, seed: int = SEED) -> Teeth:
    """Generate scenarios of a profile for a faulty host until one fails."""
    from .generate.profiles import PROFILES
    from .generate.search import Search

    began = time.perf_counter()
    search = Search(lambda: InProcess(fault.make()), PROFILES[profile], most=1)
    results: dict[str, Any] = {}
    try:
        with limited(SEARCH_SECONDS):
            found = search.run(seed)
    except Interrupted:
        results["detail"] = f"the host did not come back within {SEARCH_SECONDS:g} s"
    else:
        for failure in search.failures.values():
            verdict = failure.verdict
            results |= {"blamed": verdict.blamed(), "named": verdict.clauses}
            results["size"] = len(failure.document["schedule"])
        broken = [each.detail for each in found.results if each.outcome == "errored"]
        results["detail"] = broken[0].splitlines()[0] if broken else ""
    return Teeth(
        fault.name,
        fault.clause,
        fault.also,
        fault.meaning,
        profile,
        scenarios=search.coverage.scenarios,
        seconds=time.perf_counter() - began,
        **results,
    )


# Jobs

Result = Kill | Fairness | Teeth


@dataclass(frozen=True)
class Job:
    """One host to try: a fault by name, by all scenarios or by generated ones of a profile alone, or a fair
    host by its HOST string and place."""

    kind: Literal["fault", "latitude", "teeth"]
    name: str
    place: int = 0
    profile: str = ""
    seed: int = SEED


def do(job: Job, scope: Scope) -> Result:
    """Do one job; called in whatever process there is."""
    if job.kind == "fault":
        return kill(load()[job.name], scope)
    if job.kind == "teeth":
        return teeth(load()[job.name], job.profile, job.seed)
    return fairness(job.name, scope, job.place, runs=_runs())


@cache
def _runs() -> Runs:
    """Those of this process."""
    return Runs()


__all__ = [
    *("SCOPES", "Fairness", "Job", "Kill", "Result", "Scope", "Teeth"),
    *("blamed_clauses", "do", "fairness", "kill", "teeth"),
]
