"""Reports of whole runs, small and real, for tests of how they look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fencepost_conformance import scenario as scenarios
from fencepost_conformance.inprocess import InProcess
from fencepost_conformance.recording import record
from fencepost_conformance.report import observed, traced
from fencepost_conformance.report.model import HostFacts, Kit, Report, Selection
from fencepost_conformance.report.picture import Picture
from fencepost_conformance.runner import run_scenario
from fencepost_conformance.scenario import Scenario
from fencepost_conformance.verdict import judge
from fencepost_spec import catalogue

LEASE_SECONDS = 30.0


def pictured(make: Callable[[], Any], scenario: Scenario, *, trace: bool = True) -> Picture:
    """The picture of a scenario on a Host of ours, from its trace or as if it were somebody else's."""
    recording = record(InProcess(make()), scenario)
    assert recording is not None
    if trace:
        return traced.picture(scenario, recording, recording.differences)
    seen, found = recording.observations, recording.differences
    return observed.picture(scenario, seen, found, lease_seconds=LEASE_SECONDS)


def run(
    make: Callable[[], Any], *ids: str, trace: bool = True, name: str = "My Host"
) -> tuple[Report, Mapping[str, Picture]]:
    """The report of a run of shipped scenarios over what they measure, and the pictures of what failed."""
    chosen = [scenarios.load(id) for id in ids]
    results = [run_scenario(InProcess(make()), each) for each in chosen]
    failed = {result.scenario for result in results if result.outcome == "failed"}
    clauses = catalogue.load()
    report = Report(
        kit=Kit("0.1.0", clauses.version, clauses.digest, "sha256:1"),
        host=HostFacts("python:my_host:make", name, "1.2", ("clock", "journal")),
        seed=7,
        selection=Selection(scenarios=ids),
        run=judge(clauses, results, {clause for each in chosen for clause in each.clauses}),
        exit_status=1 if failed else 0,
        started_at="2030-01-02T03:04:05Z",
        seconds=1.5,
    )
    return report, {each.id: pictured(make, each, trace=trace) for each in chosen if each.id in failed}
