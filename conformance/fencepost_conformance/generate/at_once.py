"""Several searches at once, for a Host on real time, where most of a search is waiting.

Each has a connection and a thread of its own; what is generated is the same for any number of them. A failure
must hold when it is run again: on real time something may come once and not again. One that does not is told
as flaky, and no clause is blamed for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ..adapter import Connection
from ..results import CheckResult
from ..runner import run_many
from ..scenario import Scenario
from .coverage import Coverage
from .profiles import Profile
from .search import NOT_AGAIN, Failure, Found, Search, conclude, conclude_fault

AGAIN = 2  # times that a failure is run again, before it is flaky


def search_at_once(
    connect: Callable[[], Connection],
    profile: Profile,
    number: int,
    progress: Callable[[str], None] = lambda name: None,
    *,
    at_once: int,
) -> Found:
    """What so many searches find from a seed; raises AdapterFault where not even a connection can be had."""
    began = time.monotonic()
    turns, failures = iter(range(profile.examples)), dict[str, Failure]()
    searches = [Search(connect, profile, progress, turns=turns, failures=failures) for _ in range(at_once)]
    try:
        with ThreadPoolExecutor(at_once) as threads:
            for running in [threads.submit(each.generate, number) for each in searches]:
                running.result()
    finally:
        for each in searches:
            each.close()
    found = Found(profile.name, Coverage())
    for each in searches:
        found.coverage.add_all(each.coverage)
        if each.fault is not None:
            conclude_fault(found, *each.fault)
    conclude(found, failures, lambda scenarios: _replayed(connect, scenarios, at_once))
    found.results = [_flaky(each) if each.detail == NOT_AGAIN else each for each in found.results]
    found.seconds = time.monotonic() - began
    return found


def _replayed(
    connect: Callable[[], Connection], scenarios: list[Scenario], at_once: int
) -> list[CheckResult]:
    """Each scenario run again, at most so often, until it fails."""
    results: dict[str, CheckResult] = {}
    for _ in range(AGAIN):
        left = [each for each in scenarios if each.id not in results or results[each.id].outcome != "failed"]
        if left:
            ran = run_many(connect, left, generated=True, at_once=at_once)
            results |= {result.scenario: result for result in ran}
    return [results[each.id] for each in scenarios]


def _flaky(result: CheckResult) -> CheckResult:
    """A failure that was seen once, and blames no clause."""
    detail = f"flaky: {result.differences[0].message}; {result.detail}"
    return replace(result, clauses=(), outcome="errored", differences=(), detail=detail)
