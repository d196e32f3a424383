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

import time
from collections.abc import Callable, Iterable
from typing import Any

from . import judging
from .adapter import PROTOCOL, AdapterFault, Connection, Handshake, parse_handshake
from .results import CheckResult, Outcome
from .run import DEADLINE_SECONDS, ENTRIES, Run, break_off, needed_instruments, reply_to, value_of
from .scenario import Scenario, ScenarioError

ENOUGH_BREAKDOWNS = 5  # of the adapter, one after the other

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
    run = Run(connection, handshake, scenario, deadline)
    detail = ""
    try:
        unsprung = run.play()
        if scenario.judged:
            verdict = judging.admitted(scenario, run.observations, handshake)
            run.differences.extend(() if verdict is None else verdict.differences(scenario.clauses))
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
    )


def run_many(
    connect: Callable[[], Connection],
    scenarios: Iterable[Scenario],
    progress: Callable[[CheckResult], None] = lambda result: None,
    *,
    generated: bool = False,
    deadline: float = DEADLINE_SECONDS,
) -> list[CheckResult]:
    """Run scenarios on one connection, made anew after a fault; raises AdapterFault if the first fails.

    An adapter that breaks down again and again, with nothing in between that worked, is left alone: each
    breakdown may have taken as long as the deadline.
    """
    first = connect()
    connection: Connection | None = first
    results: list[CheckResult] = []
    in_a_row = 0
    try:
        greet(first, deadline)
        for scenario in scenarios:
            if in_a_row == ENOUGH_BREAKDOWNS:
                detail = f"not run: the adapter broke down {in_a_row} times in a row before it"
                result = _result(scenario, "errored", detail=detail)
            else:
                connection, result = _on_a_live_one(connection, connect, scenario, generated, deadline)
                if result.outcome != "unmeasured":  # nothing was run
                    in_a_row = in_a_row + 1 if connection is None else 0
            results.append(result)
            progress(result)
    finally:
        if connection is not None:
            connection.close()
    return results


def _on_a_live_one(
    connection: Connection | None,
    connect: Callable[[], Connection],
    scenario: Scenario,
    generated: bool,
    deadline: float,
) -> tuple[Connection | None, CheckResult]:
    """What a scenario came to, on a new connection if need be, and the connection if it still works."""
    try:
        connection = connect() if connection is None else connection
        result = run_scenario(connection, scenario, generated=generated, deadline=deadline)
    except AdapterFault as fault:
        result = _result(scenario, "errored", detail=_detail(fault))
    if connection is not None and connection.broken:
        connection.close()
        connection = None
    return connection, result


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
    if handshake.advance_seconds is not None and advanced(scenario, handshake) > handshake.advance_seconds:
        missing |= {"clock"}
    return tuple(sorted(missing))


def advanced(scenario: Scenario, handshake: Handshake) -> float:
    """The seconds by which a scenario moves the clock."""
    recoveries = sum("recover" in entry for entry in scenario.schedule) * handshake.lease_seconds
    return float(recoveries + sum(entry.get("advance", 0) for entry in scenario.schedule))


def _detail(fault: AdapterFault) -> str:
    return f"{fault}\n{fault.log}".strip()


def _result(scenario: Scenario, outcome: Outcome, **rest: Any) -> CheckResult:
    return CheckResult(scenario.id, scenario.title, scenario.clauses, outcome, **rest)
