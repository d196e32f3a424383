"""The four Forms beside DurableWorkflow: what a spec may say, what may change, what blocks a DELETE."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fencepost.management import ABSENT, File, Manifest, Reply, VerifyBundle, bundles, queries
from fencepost.management.bundles import JAVASCRIPT
from fencepost.management.driver import Artifact
from fencepost.management.service import Management, reference

SHA = "0" * 64


class House:
    """A Worker, a bundle and a Version to hang specs on."""

    def __init__(self) -> None:
        self.host = Management()
        self.worker = self.host.made(0, "ModuleWorker", "w", {})
        self.bundle = self.host.made(0, "WorkerBundle", "b", self.host.publish("b", {"Probe": True}).spec)
        self.base: dict[str, Any] = {
            "worker": reference(self.worker),
            "bundle": reference(self.bundle),
            "handlers": [],
        }
        self.version = self.host.made(0, "WorkerVersion", "v", self.base)

    def version_reply(self, change: dict[str, Any]) -> Reply:
        spec = {key: value for key, value in (self.base | change).items() if value is not ABSENT}
        return self.host.create(1, "WorkerVersion", "x", spec)

    def deployment_reply(self, *entries: Any, name: str = "d", **change: Any) -> Reply:
        versions = [{"workerVersion": reference(uid), "weight": weight} for uid, weight in entries]
        spec = {"worker": reference(self.worker), "versions": versions} | change
        return self.host.create(1, "WorkerDeployment", name, spec)

    def delete(self, uid: str, now: int = 9) -> Reply:
        return self.host.request(now, "DELETE", f"/resources/{uid}")

    def put(self, uid: str, spec: dict[str, Any]) -> Reply:
        return self.host.request(9, "PUT", f"/resources/{uid}", {"spec": spec})


@pytest.fixture
def house() -> House:
    return House()


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"artifact": {"url": "https://a.invalid/m.json", "sha256": SHA}}, None),
        ({"artifact": {"url": "https://a.invalid/m@x.json", "sha256": SHA}}, None),
        ({}, "invalid_spec"),
        ({"artifact": None}, "invalid_spec"),
        ({"artifact": {"url": "https://a.invalid/m.json"}}, "invalid_spec"),
        ({"artifact": {"url": "https://a.invalid/m.json", "sha256": SHA.upper() + "A"}}, "invalid_spec"),
        ({"artifact": {"url": "https://a.invalid/m.json", "sha256": "A" * 64}}, "invalid_spec"),
        ({"artifact": {"url": "https://a.invalid/m.json", "sha256": SHA + "\n"}}, "invalid_spec"),
        ({"artifact": {"url": "http://a.invalid/m.json", "sha256": SHA}}, "invalid_spec"),
        ({"artifact": {"url": "https://u@a.invalid/m.json", "sha256": SHA}}, "invalid_spec"),
        ({"artifact": {"url": "https://a.invalid/m.json?q", "sha256": SHA}}, "invalid_spec"),
        ({"artifact": {"url": "https://a.invalid/m.json#f", "sha256": SHA}}, "invalid_spec"),
        ({"artifact": {"url": "https://a.invalid/é", "sha256": SHA}}, "invalid_spec"),
        ({"artifact": {"url": "https://a.invalid/m.json", "sha256": SHA, "x": 1}}, "invalid_spec"),
    ],
)
def test_bundle_specs(spec: dict[str, Any], code: str | None) -> None:
    assert Management().create(0, "WorkerBundle", "b", spec).code == code


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, None),
        ({"handlers": ["queue", "fetch", "scheduled"]}, None),
        ({"handlers": ["fetch", "fetch"]}, "invalid_spec"),
        ({"handlers": ["email"]}, "invalid_spec"),
        ({"handlers": ABSENT}, "invalid_spec"),
        ({"handlers": None}, "invalid_spec"),
        ({"bundle": ABSENT}, "invalid_spec"),
        ({"bundle": {"resourceUid": "nothing"}}, "invalid_spec"),
        ({"worker": {"resourceUid": "nothing"}}, "invalid_spec"),
        ({"vars": {"A": nested(8), "b.c-d": None, "E": {"k": [1.5, True]}}}, None),
        ({"vars": {"A": nested(9)}}, "invalid_spec"),
        ({"vars": {"A": list(range(64))}}, None),
        ({"vars": {"A": list(range(65))}}, "invalid_spec"),
        ({"vars": {"A": "\U0001f600" * 8192}}, None),
        ({"vars": {"A": "x" * 8193}}, "invalid_spec"),
        ({"vars": {"A": {"-": 1}}}, "invalid_spec"),
        ({"vars": {"1A": 1}}, "invalid_spec"),
        ({"vars": {"A\n": 1}}, "invalid_spec"),
        ({"vars": {f"A{n}": n for n in range(64)}}, None),
        ({"vars": {f"A{n}": n for n in range(65)}}, "invalid_spec"),
        ({"vars": None}, "invalid_spec"),
        ({"requiredSensitiveVars": []}, None),
        ({"requiredSensitiveVars": ["TOKEN"]}, "capability_required"),
        ({"kvBindings": []}, None),
        ({"kvBindings": [{"name": "KV", "resource": {"resourceUid": "u"}}]}, "unsupported_form"),
        ({"workflowBindings": [{"name": "F", "resource": {"resourceUid": "u"}}]}, "invalid_spec"),
        ({"assets": {}}, "invalid_spec"),
        ({"unknown": 1}, "invalid_spec"),
    ],
)
def test_version_specs(house: House, change: dict[str, Any], code: str | None) -> None:
    assert house.version_reply(change).code == code


def test_one_name_space_for_variables_and_bindings(house: House) -> None:
    flow = house.host.made(
        0, "DurableWorkflow", "f", {"worker": reference(house.worker), "className": "Probe"}
    )
    binding = {"name": "A", "resource": reference(flow)}
    assert house.version_reply({"workflowBindings": [binding], "vars": {"A": 1}}).code == "invalid_spec"
    assert house.version_reply({"workflowBindings": [binding, binding]}).code == "invalid_spec"
    reply = house.version_reply({"workflowBindings": [binding], "vars": {"B": {"k": 1}}})
    environment = queries.environment(house.host.state, reply.body["resourceUid"])
    assert (environment.variables, environment.bindings) == ({"B": {"k": 1}}, {"A": flow})


def test_weights(house: House) -> None:
    other = house.version_reply({"vars": {"A": 1}}).body["resourceUid"]
    one, two = house.version, other
    for entries in (
        [(one, 9999)],
        [(one, 10001)],
        [(one, 10000), (two, 0)],
        [(one, 5000), (one, 5000)],
        [(one, 4999), (two, 5000)],
        [(one, 10000.5)],
        [(one, True), (two, 9999)],
        [],
        [("nothing", 10000)],
        [(house.bundle, 10000)],
    ):
        assert house.deployment_reply(*entries).code == "invalid_spec", entries
    assert house.deployment_reply((one, 10000), extra=1).code == "invalid_spec"
    reply = house.deployment_reply((two, 9999), (one, 1))
    assert reply.code is None
    assert dict(queries.weights(house.host.state, house.worker)) == {one: 1, two: 9999}
    selection = queries.weights(house.host.state, house.worker)
    chosen = [queries.choose(selection, point) for point in range(10000)]
    assert (chosen.count(one), chosen.count(two)) == (1, 9999)
    with pytest.raises(ValueError, match="below the sum"):
        queries.choose(selection, 10000)


def test_at_most_eight_versions(house: House) -> None:
    for count, code in ((8, "invalid_spec"), (9, "invalid_spec")):
        versions = [{"workerVersion": reference(f"u{n}"), "weight": 10000 // count} for n in range(count)]
        versions[0]["weight"] += 10000 % count  # type: ignore[operator]
        reply = house.deployment_reply(versions=versions)
        assert reply.code == code
        assert ("by its UID" in reply.body["detail"]) == (count == 8)  # eight fail on the references only


def test_versions_of_another_worker_are_not_deployed(house: House) -> None:
    other = house.host.made(1, "ModuleWorker", "w2", {})
    version = house.version_reply({"worker": reference(other)}).body["resourceUid"]
    assert house.deployment_reply((version, 10000)).code == "invalid_spec"


def test_one_active_deployment_for_a_worker(house: House) -> None:
    first = house.deployment_reply((house.version, 10000)).body["resourceUid"]
    assert house.deployment_reply((house.version, 10000), name="e").code == "dependency_conflict"
    house.delete(first)
    assert house.deployment_reply((house.version, 10000), name="e").code == "resource_busy"
    assert queries.weights(house.host.state, house.worker) == ()  # closed from its acceptance on
    assert queries.retiring(house.host.state) == (first,)
    house.host.retired(10, first)
    assert house.deployment_reply((house.version, 10000), name="e").code is None


def test_a_pending_deployment_keeps_a_second_one_busy(house: House) -> None:
    house.host.hold_verification(True, 1)
    version = house.version_reply({"vars": {"A": 1}}).body["resourceUid"]
    assert house.deployment_reply((version, 10000)).status == 202
    assert house.deployment_reply((house.version, 10000), name="e").code == "resource_busy"


def test_a_failed_update_leaves_the_weights_in_force() -> None:
    host = Management()
    host.set_up_probe(0, {"v1": {"Probe": True}}, {"v1": 10000})
    host.add_version(1, "v2", {})
    uid = host.uid("probe-deployment")
    spec = host.read(1, uid)["spec"]
    spec["versions"] = [{"workerVersion": reference(host.uid("version-v2")), "weight": 10000}]
    reply = host.request(2, "PUT", f"/resources/{uid}", {"spec": spec})
    assert host.shown(reply)["error"]["code"] == "dependency_conflict"
    assert host.weights() == {"v1": 10000}
    document = host.read(3, uid)
    assert (document["phase"], document["observed"]["active"]) == ("error", True)
    assert document["observed"]["selectedVersions"][0]["resourceUid"] == host.uid("version-v1")
    assert host.ready()
    host.deploy(4, {"v1": 10000})  # the explicit PUT recovers it
    assert host.read(5, uid)["phase"] == "idle"


def test_what_may_change_in_a_put(house: House) -> None:
    other = house.host.made(1, "ModuleWorker", "w2", {})
    deployment = house.deployment_reply((house.version, 10000)).body["resourceUid"]
    assert house.put(house.worker, {}).status == 202
    spec = house.host.read(2, house.bundle)["spec"]
    assert house.put(house.bundle, spec).status == 202
    assert house.put(house.bundle, house.host.publish("c", {}).spec).code == "invalid_spec"
    assert house.put(house.version, house.base | {"vars": {}, "workflowBindings": []}).status == 202
    assert house.put(house.version, house.base | {"vars": {"A": 1}}).code == "invalid_spec"
    assert house.put(house.version, house.base | {"handlers": ["fetch"]}).code == "invalid_spec"
    spec = house.host.read(2, deployment)["spec"]
    assert house.put(deployment, spec).status == 202
    assert house.put(deployment, spec | {"worker": reference(other)}).code == "invalid_spec"


def test_nothing_that_is_named_is_deleted(house: House) -> None:
    deployment = house.deployment_reply((house.version, 10000)).body["resourceUid"]
    for uid in (house.worker, house.bundle, house.version):
        assert house.delete(uid).code == "dependency_conflict"
    house.delete(deployment)
    assert house.delete(house.version).code == "dependency_conflict"  # the Deployment is not gone yet
    house.host.retired(10, deployment)
    house.host.living(10, house.version, 1)
    assert house.delete(house.version).code == "dependency_conflict"
    house.host.living(11, house.version, 0)
    for uid in (house.version, house.bundle, house.worker):
        reply = house.delete(uid, 12)
        assert house.host.shown(reply)["status"] == "succeeded"
    assert not house.host.state.resources


def test_a_worker_tells_its_active_deployment(house: House) -> None:
    def observed() -> Any:
        return house.host.read(20, house.worker)["observed"]

    assert observed() == {"activeDeploymentUid": None, "ready": False}
    uid = house.deployment_reply((house.version, 10000)).body["resourceUid"]
    assert observed() == {"activeDeploymentUid": uid, "ready": True}
    house.delete(uid)
    house.host.retired(21, uid)
    assert observed() == {"activeDeploymentUid": None, "ready": False}


# verification

MAIN = File("main.mjs", SHA, JAVASCRIPT, 10)
MANIFEST = Manifest(SHA, "main.mjs", (MAIN,))


@pytest.mark.parametrize(
    ("manifest", "sound"),
    [
        (MANIFEST, True),
        (replace(MANIFEST, files=(MAIN, replace(MAIN, path="a/b.txt", media_type="text/plain"))), True),
        (replace(MANIFEST, sha256="1" * 64), False),
        (replace(MANIFEST, files=()), False),
        (replace(MANIFEST, files=(MAIN, MAIN)), False),
        (replace(MANIFEST, entrypoint="other.mjs"), False),
        (replace(MANIFEST, files=(replace(MAIN, media_type="text/plain"),)), False),
        (replace(MANIFEST, files=(replace(MAIN, media_type="application/json"),)), False),
        (replace(MANIFEST, files=(MAIN, replace(MAIN, path="../x"))), False),
        (replace(MANIFEST, files=(MAIN, replace(MAIN, path="/x"))), False),
        (replace(MANIFEST, files=(MAIN, replace(MAIN, path="a?b"))), False),
        (replace(MANIFEST, files=(replace(MAIN, bytes=bundles.MAXIMUM_FILE_BYTES),)), True),
        (replace(MANIFEST, files=(replace(MAIN, bytes=bundles.MAXIMUM_FILE_BYTES + 1),)), False),
        (None, False),
    ],
)
def test_a_bundle_is_verified_or_fails(manifest: Manifest | None, sound: bool) -> None:
    host = Management()
    host.hold_verification(True, 0)
    spec = {"artifact": {"url": "https://a.invalid/m.json", "sha256": SHA}}
    reply = host.create(0, "WorkerBundle", "b", spec)
    uid = reply.body["resourceUid"]
    assert host.read(1, uid)["observed"] == {}
    assert host.shown(reply)["status"] == "running"
    host.apply(VerifyBundle(2, uid, manifest))
    host.settle(2)
    document = host.read(3, uid)
    assert document["phase"] == ("idle" if sound else "error")
    assert (document["observed"].get("manifestSha256") == SHA) == sound
    assert host.shown(reply)["effect"] == ("complete" if sound else "none")


def test_many_files_and_many_bytes() -> None:
    many = [replace(MAIN, path=f"f{n}") for n in range(bundles.MAXIMUM_FILES)]
    assert bundles.defect(replace(MANIFEST, entrypoint="f0", files=tuple(many)), SHA) is None
    assert bundles.defect(replace(MANIFEST, files=(*many, MAIN)), SHA)
    large = [replace(file, bytes=bundles.MAXIMUM_FILE_BYTES) for file in many[:8]]
    assert bundles.defect(replace(MANIFEST, entrypoint="f0", files=tuple(large)), SHA) is None
    assert bundles.defect(replace(MANIFEST, entrypoint="f0", files=(*large, many[9])), SHA)


def test_a_version_fails_with_its_bundle_and_recovers_with_it() -> None:
    host = Management()
    worker = host.made(0, "ModuleWorker", "w", {})
    spec = {"artifact": {"url": "https://a.invalid/m.json", "sha256": SHA}}
    bundle = host.create(0, "WorkerBundle", "b", spec).body["resourceUid"]
    version_spec = {"worker": reference(worker), "bundle": reference(bundle), "handlers": []}
    reply = host.create(1, "WorkerVersion", "v", version_spec)
    assert host.shown(reply)["status"] == "failed"
    assert host.shown(reply)["error"]["code"] == "verification_failed"
    version = reply.body["resourceUid"]
    host.artifacts["https://a.invalid/m.json"] = Artifact(
        "https://a.invalid/m.json", MANIFEST, {"Probe": True}
    )
    for uid, body in ((bundle, spec), (version, version_spec)):
        host.succeeded(host.request(2, "PUT", f"/resources/{uid}", {"spec": body}))
    assert host.read(3, version)["observed"] == {
        "ready": True,
        "resolvedBindings": True,
        "bundleVerified": True,
    }
