"""The durable reference passes directed scenarios: each instrument, and what only processes can show.

All of them, and generated ones, are what ``fencepost check reference-durable`` runs.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fencepost_conformance.adapter import Connection
from fencepost_conformance.cli import sources
from fencepost_conformance.hosts import resolve
from fencepost_conformance.runner import run_scenario

SELECTION = (
    "worked/01-sleep-ends-at-its-instant",
    "worked/04-event-and-timeout",
    "worked/06-overlap-is-a-mismatch",
    "worked/10-released-between-fence-and-stop",
    "worked/11-killed-around-the-commit",
    "BND/malformed-ids-create-nothing",
    "LIF/a-run-that-settles-late",
    "PUB/sleeping-after-the-stop",
    "STP/pending-wait-outlasts-a-new-version",
)


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    connection = resolve("reference-durable")()
    yield connection
    connection.close()


@pytest.mark.parametrize("name", SELECTION)
def test_a_directed_scenario_passes(connection: Connection, name: str) -> None:
    result = run_scenario(connection, sources.scenario(name))
    assert (result.outcome, result.differences, result.detail) == ("passed", (), "")
