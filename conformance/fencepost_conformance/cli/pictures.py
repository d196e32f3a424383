"""The pictures of what failed in a run: recorded anew on a Host of ours, or drawn from what was observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .. import hosts
from ..adapter import AdapterFault, Connection
from ..recording import Recording, record
from ..report import observed, traced
from ..report.model import HostFacts
from ..report.picture import Picture
from ..results import CheckResult
from ..scenario import Scenario

ELSEWHERE = "python:"  # in a process of its own, where nobody can look
MOST = 100  # pictures of one page; a Host that fails more is better read about as JSON


def draw(
    host: HostFacts, scenarios: Iterable[Scenario], results: Iterable[CheckResult]
) -> Mapping[str, Picture]:
    """A picture of each failed check, by its scenario."""
    by_id = {scenario.id: scenario for scenario in scenarios}
    failed = [result for result in results if result.outcome == "failed" and result.scenario in by_id]
    drawn = {}
    for result in failed[:MOST]:
        scenario = by_id[result.scenario]
        recording = _recorded(host.address, scenario)
        drawn[scenario.id] = (
            traced.picture(scenario, recording, recording.differences or result.differences)
            if recording is not None
            else observed.picture(
                scenario,
                result.observations,
                result.differences,
                lease_seconds=host.lease_seconds,
                has_clock="clock" in host.instruments,
            )
        )
    return drawn


def _recorded(address: str, scenario: Scenario) -> Recording | None:
    """The scenario once more, where the Host runs in this process."""
    if address.startswith(ELSEWHERE):
        return None
    try:
        connection: Connection = hosts.resolve(address)()
    except (hosts.UnknownHost, AdapterFault):
        return None
    try:
        return record(connection, scenario)
    finally:
        connection.close()
