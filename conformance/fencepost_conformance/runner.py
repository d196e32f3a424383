"""Runs scenarios on a Host, and says how each ended.

A failed expectation is noted with the clause that it blames, and the scenario goes on, so that all
differences are collected; an adapter's fault ends it. A failed check beats an errored one.

**Outcomes.** *unmeasured*: the Host lacks an instrument that an entry needs, and nothing was run.
*errored*: the adapter broke down, or a trap of a directed scenario never sprung, so that the scenario did
not show what it is for.

A *judged* scenario has no expectations: a judge is given what was seen, and what no Host may show is its
difference. It blames one clause: the first that the scenario names, if that speaks against what was seen. A
trap of it that never sprung shows nothing, and is no fault.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from . import judging
from .adapter import PROTOCOL, AdapterFault, Connection, Handshake, parse_handshake
from .results import CheckResult, Outcome
from .run import (
    DEADLINE_SECONDS,
    ENTRIES,
    PAST_LEASE_SECONDS,
    Run,
    break_off,
    needed_instruments,
    reply_to,
    value_of,
)
from .scenario import Scenario, ScenarioError

ENOUGH_BREAKDOWNS = 5  # of the adapter, one after the other
AT_ONCE = 6  # scenarios on a Host on real time, most of which wait
LONGEST_SECONDS = 12.0  # by which a scenario moves the clock that is played on real time

__all__ = ["ENTRIES", "Run", "greet", "missing_instruments", "run_many", "run_scenario"]


def run_scenario(
    connection: Connection, scenario: Scenario, *, generated: bool = False, deadline: float = DEADLINE_SECONDS
) -> CheckResult:
    """Run a scenario; a fault of the adapter makes it errored, and marks the connection as broken."""
    began = time.perf_counter()
    try:
        handshake = greet(connection, deadline)
    except AdapterFault as fault:
        return _result(scenario, "errored", detail=_detail(fault), seconds=time.perf_counter() - began)
    missing = missing_instruments(scenario, handshake)
    if missing:
        return _result(scenario, "unmeasured", missing=missing)
    run = made(connection, handshake, scenario, deadline)
    detail = ""
    try:
        unsprung = run.play()
        if scenario.judged:
            verdict = judging.admitted(scenario, run.observations, handshake)
            run.differences.extend(() if verdict is None else verdict.differences(scenario.clauses))
        elif run.missed and not run.differences:
            return _missed(scenario, run, time.perf_counter() - began)
        elif unsprung and not generated:
            detail = f"a trap never sprung: {', '.join(map(str, unsprung))}"
    except AdapterFault as fault:
        detail = _detail(fault)
        break_off(connection)
    except ScenarioError as error:
        detail = str(error)
        run.give_up()
    except Exception as error:
        if not scenario.judged:
            raise
        detail = f"the judge broke down: {type(error).__name__}: {error}"
    outcome: Outcome = "failed" if run.differences else "errored" if detail else "passed"
    return _result(
        scenario,
        outcome,
        differences=tuple(run.differences),
        detail=detail,
        choices=run.choices,
        seconds=time.perf_counter() - began,
        observations=tuple(run.observations) if outcome == "failed" else (),
        log=tuple(connection.lines()) if outcome == "failed" else (),
    )


def made(
    connection: Connection, handshake: Handshake, scenario: Scenario, deadline: float = DEADLINE_SECONDS
) -> Run:
    """A scenario about to be run; on real time where the Host has no clock."""
    if "clock" in handshake.instruments:
        return Run(connection, handshake, scenario, deadline)
    from .wall_clock import WallClockRun

    return WallClockRun(connection, handshake, scenario, deadline)


def _missed(scenario: Scenario, run: Run, seconds: float) -> CheckResult:
    """Real time went past a moment that the scenario is about."""
    first = run.missed[0]
    detail = f"real time went past what {first.at} is about ({first.message}); it takes a clock to hold still"
    return _result(scenario, "unmeasured", missing=("clock",), detail=detail, seconds=seconds)


def run_many(
    connect: Callable[[], Connection],
    scenarios: Iterable[Scenario],
    progress: Callable[[CheckResult], None] = lambda result: None,
    *,
    generated: bool = False,
    deadline: float = DEADLINE_SECONDS,
    at_once: int = 1,
) -> list[CheckResult]:
    """Run scenarios on one connection, made anew after a fault; raises AdapterFault if the first fails.

    An adapter that breaks down again and again, with nothing in between that worked, is left alone: each
    breakdown may have taken as long as the deadline. With `at_once` there are so many connections, each of
    which runs one scenario after the other; the results come in the order of the scenarios.
    """
    wanted = list(scenarios)
    lanes = [_Lane(connect, generated, deadline) for _ in range(max(1, min(at_once, len(wanted))))]
    work = _Work(wanted, progress)
    try:
        lanes[0].begin()
        if len(lanes) == 1:
            lanes[0].run(work)
        else:
            with ThreadPoolExecutor(len(lanes)) as threads:
                running = [threads.submit(lane.run, work) for lane in lanes]
                try:
                    for each in as_completed(running):
                        each.result()
                finally:  # interrupted: what is under way breaks down
                    work.stop()
                    if not all(each.done() for each in running):
                        for lane in lanes:
                            lane.close()
    finally:
        for lane in lanes:
            lane.close()
    return work.results()


class _Work:
    """Scenarios to be run, and what they came to; taken from by several lanes."""

    def __init__(self, scenarios: Sequence[Scenario], progress: Callable[[CheckResult], None]) -> None:
        self._scenarios, self._progress = scenarios, progress
        self._results: dict[int, CheckResult] = {}
        self._left = iter(range(len(scenarios)))
        self._lock = threading.Lock()

    def take(self) -> tuple[int, Scenario] | None:
        """The next one, if there is one."""
        with self._lock:
            index = next(self._left, None)
            return None if index is None else (index, self._scenarios[index])

    def done(self, index: int, result: CheckResult) -> None:
        """What one of them came to."""
        with self._lock:
            self._results[index] = result
            self._progress(result)

    def stop(self) -> None:
        """Hand out no more."""
        with self._lock:
            self._left = iter(())

    def results(self) -> list[CheckResult]:
        """All of them, in order; those that no lane was left for were not run."""
        for index, scenario in enumerate(self._scenarios):
            if index not in self._results:
                detail = f"not run: the adapter broke down {ENOUGH_BREAKDOWNS} times in a row before it"
                self.done(index, _result(scenario, "errored", detail=detail))
        return [self._results[index] for index in range(len(self._scenarios))]


class _Lane:
    """One connection, made anew after a fault, on which one scenario runs after the other."""

    def __init__(self, connect: Callable[[], Connection], generated: bool, deadline: float) -> None:
        self._connect, self._generated, self._deadline = connect, generated, deadline
        self._connection: Connection | None = None

    def begin(self) -> None:
        """Shake hands; raises AdapterFault."""
        self._connection = self._connect()
        greet(self._connection, self._deadline)

    def run(self, work: _Work) -> None:
        """Run what there is to run, unless the adapter breaks down again and again."""
        in_a_row = 0
        while in_a_row < ENOUGH_BREAKDOWNS and (taken := work.take()) is not None:
            index, scenario = taken
            result = self._on_a_live_one(scenario)
            work.done(index, result)
            if result.outcome != "unmeasured":  # else nothing was run
                in_a_row = in_a_row + 1 if self._connection is None else 0

    def close(self) -> None:
        """End the connection, whatever it is doing."""
        if self._connection is not None:
            self._connection.close()

    def _on_a_live_one(self, scenario: Scenario) -> CheckResult:
        """What a scenario came to, on a new connection if need be, which is kept if it still works."""
        try:
            if self._connection is None:
                self._connection = self._connect()
            result = run_scenario(
                self._connection, scenario, generated=self._generated, deadline=self._deadline
            )
        except AdapterFault as fault:
            result = _result(scenario, "errored", detail=_detail(fault))
        if self._connection is not None and self._connection.broken:
            self._connection.close()
            self._connection = None
        return result


def greet(connection: Connection, deadline: float = DEADLINE_SECONDS) -> Handshake:
    """The handshake of a connection, made once; raises AdapterFault."""
    if connection.greeting is None:
        try:
            ticket = connection.send("handshake", hello={"protocol": PROTOCOL, "kit": "fencepost"})
            connection.greeting = parse_handshake(
                value_of("handshake", reply_to(connection, "handshake", ticket, deadline))
            )
        except AdapterFault:
            break_off(connection)
            raise
    return connection.greeting


def missing_instruments(scenario: Scenario, handshake: Handshake) -> tuple[str, ...]:
    """The instruments that a scenario needs and the Host does not offer, or not as far as it needs them."""
    missing = needed_instruments(scenario) - handshake.instruments
    if "clock" in missing and advanced(scenario, handshake) <= LONGEST_SECONDS:
        missing -= {"clock"}  # it is played on real time
    if handshake.advance_seconds is not None and advanced(scenario, handshake) > handshake.advance_seconds:
        missing |= {"clock"}
    return tuple(sorted(missing))


def advanced(scenario: Scenario, handshake: Handshake) -> float:
    """The seconds by which a scenario moves the clock."""
    recoveries = sum("recover" in entry for entry in scenario.schedule)
    past = recoveries * (handshake.lease_seconds + PAST_LEASE_SECONDS)
    return float(past + sum(entry.get("advance", 0) for entry in scenario.schedule))


def _detail(fault: AdapterFault) -> str:
    return f"{fault}\n{fault.log}".strip()


def _result(scenario: Scenario, outcome: Outcome, **rest: Any) -> CheckResult:
    return CheckResult(scenario.id, scenario.title, scenario.clauses, outcome, **rest)
