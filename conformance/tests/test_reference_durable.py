"""The durable reference passes directed scenarios: each instrument, and what only processes can show.

It is managed over HTTP, so that a restart also takes the API with it.

All of them, and generated ones, are what ``fencepost check reference-durable`` runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("alembic")
pytest.importorskip("starlette")

from fencepost.api.kept import Kept
from fencepost.durable import statements as sql
from fencepost.durable.store import Store, StoreUnavailable
from fencepost.management.state import Rules
from fencepost_conformance.adapter import Connection
from fencepost_conformance.cli import sources
from fencepost_conformance.generate.profiles import Profile
from fencepost_conformance.generate.search import search
from fencepost_conformance.hosts import resolve
from fencepost_conformance.hosts.durable.database import Database
from fencepost_conformance.runner import run_scenario
from fencepost_conformance.scenario import from_document
from sqlalchemy import select

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
    "RES/unverified-is-busy",
    "RDY/create-while-not-ready",
    "OBS/counts",
    "DEL/lost-answers",
    "DEL/restarted-while-deleting",
    "DEL/stop-unproven",
)

UNFINISHED = {"status": [200, 202], "operation": {"status": "unfinished"}}
DELETED_WHILE_FROZEN = {
    "format": "fencepost.scenario@1",
    "title": "A frozen owner holds back the end of a DELETE, also when its lease has run out",
    "for": "reference",
    "clauses": ["DEL-4", "DEL-5"],
    "programs": {"main": [{"do": "a", "effect": {"value": {}}}, {"do": "b", "effect": {"value": {}}}]},
    "schedule": [
        {"pause": "i", "at": "effect-end:a"},
        {"create": "i", "program": "main"},
        {"settle": True},
        {"unbind": True},
        {"resource": "DELETE", "on": "workflow", "key": "gone", "as": "d", "expect": UNFINISHED},
        {"recover": True},
        {"resource": "GET", "on": "d.operation", "expect": UNFINISHED},
        {"resource": "GET", "on": "workflow", "expect": {"status": 200, "resource": {"phase": "deleting"}}},
        {"resume": "i"},
        {"settle": True},
        {
            "resource": "GET",
            "on": "d.operation",
            "expect": {"status": 200, "operation": {"status": "succeeded", "effect": "complete"}},
        },
        {"resource": "GET", "on": "workflow", "expect": {"status": [404, 410]}},
        {"effects": {"a": 1, "b": 0}, "clause": "DEL-5"},
    ],
}


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    connection = resolve("reference-durable")()
    yield connection
    connection.close()


@pytest.mark.parametrize("name", SELECTION)
def test_a_directed_scenario_passes(connection: Connection, name: str) -> None:
    result = run_scenario(connection, sources.scenario(name))
    assert (result.outcome, result.differences, result.detail) == ("passed", (), "")


FROZEN_AGAIN = {
    "while it is frozen": [{"pause": "i", "at": "now"}, {"settle": True}, {"resume": "i"}],
    "as it is resumed": [
        {"pause": "i", "at": "committed:a"},
        {"resume": "i"},
        {"settle": True},
        {"resume": "i"},
    ],
}


@pytest.mark.parametrize("again", FROZEN_AGAIN)
def test_an_owner_that_is_frozen_again_can_be_resumed(connection: Connection, again: str) -> None:
    document = {
        "format": "fencepost.scenario@1",
        "title": f"Frozen again {again}",
        "clauses": ["PUB-2"],
        "programs": {"main": [{"do": "a", "effect": {"value": {}}}, {"return": {"done": True}}]},
        "schedule": [
            {"pause": "i", "at": "effect-end:a"},
            {"create": "i", "program": "main"},
            {"settle": True},
            *FROZEN_AGAIN[again],
            {"settle": True},
            {"status": "i", "expect": {"status": "complete", "output": {"done": True}}},
            {"effects": {"a": 1}},
        ],
    }
    result = run_scenario(connection, from_document(document, "frozen-again"))
    assert (result.outcome, result.differences, result.detail) == ("passed", (), "")


def test_generated_scenarios_pass() -> None:
    found = search(resolve("reference-durable"), Profile("tests", 4, 10, 5.0), 7)
    assert [(each.scenario, each.outcome, each.detail) for each in found.results] == []
    assert found.coverage.scenarios == 4


def test_nothing_is_purged_while_an_owner_is_frozen(connection: Connection) -> None:
    result = run_scenario(connection, from_document(DELETED_WHILE_FROZEN, "deleted-while-frozen"))
    assert (result.outcome, result.differences, result.detail) == ("passed", (), "")


def test_what_was_made_for_a_scenario_is_gone_after_it(connection: Connection) -> None:
    adapter = connection.adapter  # type: ignore[attr-defined]
    assert run_scenario(connection, sources.scenario("OBS/counts")).outcome == "passed"
    for table in (sql.instances, sql.contexts, sql.resources):
        assert adapter._store.rows(select(table)) == []
    assert Kept(adapter._store, Rules()).load() is None


@pytest.mark.postgresql
def test_each_adapter_has_a_database_of_its_own_and_drops_it() -> None:
    first, second = Database(Path()), Database(Path())
    stores = [Store(each.place) for each in (first, second)]
    stores[0].hold_clock(7)
    assert stores[0].now() == 7
    assert stores[1].now() > 7
    first.close()
    second.close()
    for store in stores:
        with pytest.raises(StoreUnavailable):
            store.now()
        store.close()
