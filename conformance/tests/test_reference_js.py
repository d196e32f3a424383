"""The reference with JavaScript passes directed scenarios: some for each of what it does by itself.

All of them, and generated ones, are what ``fencepost check reference-js`` runs.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fencepost.contexts import node_tools
from fencepost_conformance.adapter import AdapterFault, Connection
from fencepost_conformance.cli import sources
from fencepost_conformance.hosts import is_ours, resolve
from fencepost_conformance.runner import run_scenario

SELECTED = (
    "BND/five-calls",
    "CTX/a-wake-takes-the-version-of-its-time",
    "CTX/fresh-state-for-every-instance",
    "DOC/fine-oddities",
    "DOC/params-with-code",
    "ERR/only-the-same-object-is-genuine",
    "PUB/a-stale-owner-commits-no-step",
    "RES/put-leaves-histories",
    "STP/an-overlap-in-a-later-turn",
    "STP/suspension-runs-no-handler",
    "TRM/from-the-inside",
    "TRM/the-context-is-physically-stopped",
    "WFE/late-event-of-a-restarted-host",
    "WFE/shortest-timeout",
    "worked/10-released-between-fence-and-stop",
    "worked/16-released-after-the-deletion",
)


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    connection = resolve("reference-js")()
    yield connection
    connection.close()


@pytest.mark.parametrize("name", SELECTED)
def test_a_directed_scenario_passes(connection: Connection, name: str) -> None:
    result = run_scenario(connection, sources.scenario(name))
    assert (result.outcome, result.differences, result.detail) == ("passed", (), "")


def test_it_takes_the_choices_of_the_reference() -> None:
    assert is_ours("reference-js")


def test_without_node_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(node_tools.VARIABLE, raising=False)
    monkeypatch.setattr(node_tools, "_PACKAGE", "no_such_package_at_all")
    with pytest.raises(AdapterFault, match=r"pip install 'fencepost\[js\]'"):
        resolve("reference-js")()
