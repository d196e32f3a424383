"""The chapters RES, OBS and RDY, clause by clause, on both sides of each rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from fencepost.management import ABSENT, STATUSES, Illegal, Observe, Rules, queries
from fencepost.management.driver import inspect
from fencepost.management.forms import URLS
from fencepost.management.service import Management, reference

FIT = {"Probe": True}
WRONG_ABI = {"Probe": False}
LACKING = {"Other": True}
KEY = "a-key-of-one-request"


@pytest.fixture
def management() -> Management:
    """A probe Workflow on one Version, deployed, with a caller that binds it."""
    host = Management()
    host.set_up_probe(0, {"v1": FIT}, {"v1": 10000})
    return host


def worker_with_versions(host: Management, **versions: Mapping[str, bool]) -> tuple[str, dict[str, str]]:
    """A Worker of its own with a Version for each name; its UID and theirs."""
    worker = host.made(0, "ModuleWorker", "w", {})
    uids = {}
    for name, exports in versions.items():
        bundle = host.made(0, "WorkerBundle", f"b-{name}", host.publish(f"w-{name}", exports).spec)
        spec = {"worker": reference(worker), "bundle": reference(bundle), "handlers": []}
        uids[name] = host.made(0, "WorkerVersion", f"x-{name}", spec)
    return worker, uids


def deployment(worker: str, **weights: int) -> dict[str, Any]:
    """The spec of a Deployment; the keywords are UIDs with `_` for `-`."""
    return {
        "worker": reference(worker),
        "versions": [
            {"workerVersion": reference(uid.replace("_", "-")), "weight": weight}
            for uid, weight in weights.items()
        ],
    }


def weighed(*uids: str) -> dict[str, int]:
    """Equal weights that sum to the whole, as keywords for `deployment`."""
    share = 10000 // len(uids)
    return {uid.replace("-", "_"): share for uid in uids}


def workflow(worker: str, class_name: Any = "Probe") -> dict[str, Any]:
    return {"worker": reference(worker), "className": class_name}


# RES


@pytest.mark.parametrize(
    "change",
    [
        {"worker": None},
        {"worker": ABSENT},
        {"worker": "uid"},
        {"worker": {"resourceUid": None}},
        {"worker": {"resourceUid": 7}},
        {"worker": {}},
        {"worker": {"resourceUid": "WORKER", "name": "w"}},
        {"className": None},
        {"className": ABSENT},
        {"className": 1},
        {"secret": "s"},
        {"vars": {}},
    ],
)
def test_res_1_refuses_every_other_spec_without_effect(change: dict[str, Any]) -> None:
    host = Management()
    worker = host.made(0, "ModuleWorker", "w", {})
    spec = {key: value for key, value in (workflow(worker) | change).items() if value is not ABSENT}
    if isinstance(spec.get("worker"), dict) and spec["worker"].get("resourceUid") == "WORKER":
        spec["worker"] = {"resourceUid": worker, "name": "w"}
    before = host.state
    reply = host.create(1, "DurableWorkflow", "f", spec)
    assert (reply.status, reply.code) == (422, "invalid_spec")
    assert host.state is before


@pytest.mark.parametrize("spec", [None, [], "spec", 3])
def test_res_1_refuses_a_spec_that_is_no_object(spec: Any) -> None:
    host = Management()
    body = {"form": URLS["DurableWorkflow"], "space": "default", "name": "f", "spec": spec}
    assert host.request(1, "POST", "/resources", body).status == 400
    assert not host.state.resources


@pytest.mark.parametrize("name", ["A", "_", "$", "a1", "$_9", "A" * 64, "class"])
def test_res_2_accepts_identifiers(name: str) -> None:
    host = Management()
    worker = host.made(0, "ModuleWorker", "w", {})
    assert host.create(1, "DurableWorkflow", "f", workflow(worker, name)).status == 202


@pytest.mark.parametrize("name", ["", "1a", "A" * 65, "a-b", "a.b", "a b", "é", "Probe\n", "\nProbe", "Aー"])
def test_res_2_refuses_everything_else(name: str) -> None:
    host = Management()
    worker = host.made(0, "ModuleWorker", "w", {})
    reply = host.create(1, "DurableWorkflow", "f", workflow(worker, name))
    assert (reply.status, reply.code) == (422, "invalid_spec")


def test_res_3_wants_a_worker_of_the_same_space_that_the_caller_may_use() -> None:
    host = Management(grants={"owner": ("default", "second"), "other": ("default", "second")})
    worker = host.made(0, "ModuleWorker", "w", {})
    bundle = host.made(0, "WorkerBundle", "b", host.publish("b", FIT).spec)

    def code(uid: str, space: str = "default", principal: str = "owner") -> str | None:
        frame = {"form": URLS["DurableWorkflow"], "space": space, "name": "f", "spec": workflow(uid)}
        return host.request(1, "POST", "/resources", frame, principal=principal).code

    before = host.state
    assert code("uid-99999999") == "invalid_spec"  # nothing there
    assert code("w") == "invalid_spec"  # RES-5: a name is no UID
    assert code(bundle) == "invalid_spec"  # another Form
    assert code(worker, space="second") == "invalid_spec"  # another Space
    assert code(worker, principal="other") == "invalid_spec"  # another's Worker
    assert host.state is before
    assert code(worker) is None


def test_res_4_creates_without_a_deployment_and_is_ready_only_with_a_fit_one() -> None:
    host = Management()
    worker, versions = worker_with_versions(host, fit=FIT)
    uid = host.made(1, "DurableWorkflow", "f", workflow(worker))
    assert not queries.ready(host.state, uid)
    assert queries.admission(host.state, uid) == "unready"  # RDY-1
    host.made(2, "WorkerDeployment", "d", deployment(worker, **weighed(versions["fit"])))
    assert queries.ready(host.state, uid)
    assert queries.admission(host.state, uid) == "open"


def test_res_5_a_reference_never_moves_to_a_namesake() -> None:
    host = Management()
    worker = host.made(0, "ModuleWorker", "w", {})
    host.succeeded(host.request(1, "DELETE", f"/resources/{worker}"))
    again = host.made(2, "ModuleWorker", "w", {})
    assert again != worker
    assert host.create(3, "DurableWorkflow", "f", workflow(worker)).code == "invalid_spec"


@pytest.mark.parametrize(
    ("exports", "code"),
    [
        ([FIT], None),
        ([FIT, FIT], None),
        ([LACKING], "dependency_conflict"),
        ([WRONG_ABI], "dependency_conflict"),
        ([FIT, LACKING], "dependency_conflict"),
    ],
)
def test_res_6_looks_at_every_weighted_version(exports: list[Mapping[str, bool]], code: str | None) -> None:
    host = Management()
    versions = {f"v{n}": found for n, found in enumerate(exports)}
    worker, uids = worker_with_versions(host, **versions)
    host.made(1, "WorkerDeployment", "d", deployment(worker, **weighed(*uids.values())))
    before, active = host.state, host.state.active
    reply = host.create(2, "DurableWorkflow", "f", workflow(worker))
    assert reply.code == code
    assert host.state.active == active  # the Deployment and its weights are as before
    assert (host.state is before) == (code is not None)


@pytest.mark.parametrize(
    ("verified", "held", "code"),
    [
        ([], [FIT], "resource_busy"),  # it cannot be decided yet
        ([FIT], [FIT], "resource_busy"),
        ([LACKING], [FIT], "dependency_conflict"),  # RES-11: decided already
        ([FIT], [], None),
    ],
)
def test_res_6_and_res_11_with_an_unfinished_verification(
    verified: list[Mapping[str, bool]], held: list[Mapping[str, bool]], code: str | None
) -> None:
    host = Management()
    worker, first = worker_with_versions(host, **{f"v{n}": found for n, found in enumerate(verified)})
    host.hold_verification(True, 1)
    uids = list(first.values())
    for n, exports in enumerate(held):
        bundle = host.made(1, "WorkerBundle", f"bh{n}", host.publish(f"h{n}", exports).spec)
        spec = {"worker": reference(worker), "bundle": reference(bundle), "handlers": []}
        uids.append(host.made(1, "WorkerVersion", f"h{n}", spec))
    pending = host.create(2, "WorkerDeployment", "d", deployment(worker, **weighed(*uids)))
    assert pending.status == 202
    assert host.create(3, "DurableWorkflow", "f", workflow(worker)).code == code
    host.hold_verification(False, 4)
    final = host.create(5, "DurableWorkflow", "g", workflow(worker)).code
    assert final == ("dependency_conflict" if LACKING in verified else None)


def test_res_6_looks_at_a_pending_update_beside_the_weights_in_force() -> None:
    host = Management()
    worker, uids = worker_with_versions(host, old=FIT)
    uid = host.made(1, "WorkerDeployment", "d", deployment(worker, **weighed(uids["old"])))
    host.hold_verification(True, 2)
    bundle = host.made(2, "WorkerBundle", "b", host.publish("new", FIT).spec)
    version = host.made(
        2, "WorkerVersion", "x", {"worker": reference(worker), "bundle": reference(bundle), "handlers": []}
    )
    host.request(3, "PUT", f"/resources/{uid}", {"spec": deployment(worker, **weighed(uids["old"], version))})
    assert queries.weights(host.state, worker) == ((uids["old"], 10000),)  # not before all fit
    assert host.create(4, "DurableWorkflow", "f", workflow(worker)).code == "resource_busy"
    host.hold_verification(False, 5)
    assert queries.weights(host.state, worker) == tuple(sorted([(uids["old"], 5000), (version, 5000)]))
    assert host.create(6, "DurableWorkflow", "f", workflow(worker)).code is None


def test_res_7_an_accepted_deployment_that_does_not_fit_fails_in_its_operation() -> None:
    host = Management()
    worker, uids = worker_with_versions(host, bad=LACKING)
    flow = host.made(1, "DurableWorkflow", "f", workflow(worker))
    spec = deployment(worker, **weighed(uids["bad"]))
    body = {"form": URLS["WorkerDeployment"], "space": "default", "name": "d", "spec": spec}
    reply = host.request(2, "POST", "/resources", body, key=KEY)
    assert reply.status == 202
    again = host.request(3, "POST", "/resources", body, key=KEY)
    assert (again.status, again.body["id"], again.body["status"]) == (200, reply.body["id"], "failed")
    assert again.body["error"]["code"] == "dependency_conflict"
    assert again.body["effect"] == "none"
    assert queries.weights(host.state, worker) == ()
    assert not queries.ready(host.state, flow)


def test_res_8_put_of_the_same_spec_is_a_new_operation_and_generation(management: Management) -> None:
    uid = management.uid("probe")
    first = management.read(1, uid)
    reply = management.request(2, "PUT", f"/resources/{uid}", {"spec": first["spec"]})
    assert (reply.status, reply.body["action"], reply.body["generation"]) == (202, "update", 2)
    assert reply.body["id"] != first["lastOperation"]
    after = management.read(3, uid)
    assert (after["generation"], after["observedGeneration"], after["phase"]) == (2, 2, "idle")
    assert after["observedAt"] > first["observedAt"]  # reconciled again
    assert after["spec"] == first["spec"]


@pytest.mark.parametrize(
    ("choice", "status"), [("invalid-spec", 422), ("conflict", 409), ("other-client-error", 400)]
)
@pytest.mark.parametrize("member", ["worker", "className"])
def test_res_8_refuses_a_changed_spec_before_any_effect(choice: Any, status: int, member: str) -> None:
    host = Management(rules=Rules(changed_spec=choice))
    uid = host.set_up_probe(0, {"v1": FIT}, {"v1": 10000})
    other = host.made(1, "ModuleWorker", "another", {})
    spec = host.read(1, uid)["spec"] | {"worker": reference(other), "className": "Other"}
    spec |= {key: value for key, value in host.read(1, uid)["spec"].items() if key != member}
    before = host.state
    assert host.request(2, "PUT", f"/resources/{uid}", {"spec": spec}).status == status
    assert host.state is before


def test_res_9_and_del_7_every_create_has_a_uid_of_its_own(management: Management) -> None:
    first = management.uid("probe")
    management.unbind(1)
    management.delete_workflow(2)
    management.purged(3, first)
    second = management.recreate_workflow(4)
    assert second != first
    assert management.request(5, "GET", f"/resources/{first}").status == 410
    assert management.read(5, second)["generation"] == 1


# OBS


def test_obs_1_observed_is_empty_until_observed_and_then_has_exactly_the_seven_counts() -> None:
    host = Management(counts=lambda uid: dict.fromkeys(STATUSES, 0) | {"sleeping": 3})
    worker = host.made(0, "ModuleWorker", "w", {})
    frame = {"form": URLS["DurableWorkflow"], "space": "default", "name": "f", "spec": workflow(worker)}
    uid = host.request(1, "POST", "/resources", frame, settle=False).body["resourceUid"]
    unobserved = host.read(1, uid)
    assert (unobserved["observed"], unobserved["observedAt"], unobserved["output"]) == ({}, None, {})
    assert (unobserved["phase"], unobserved["observedGeneration"]) == ("pending", 0)
    host.settle(2)
    document = host.read(2, uid)
    assert document["observed"]["instanceCounts"] == dict.fromkeys(STATUSES, 0) | {"sleeping": 3}
    assert (document["observed"]["ready"], document["output"]) == (False, {})
    assert document["observedAt"] == "1970-01-01T00:00:00.002Z"


@pytest.mark.parametrize(
    "counts",
    [
        dict.fromkeys(STATUSES[:-1], 0),
        dict.fromkeys((*STATUSES, "paused"), 0),
        dict.fromkeys(STATUSES, -1),
        dict.fromkeys(STATUSES, True),
    ],
)
def test_obs_1_refuses_other_counts(management: Management, counts: dict[str, int]) -> None:
    before = management.state
    assert isinstance(management.apply(Observe(9, management.uid("probe"), counts)).reply, Illegal)
    assert management.state is before


def test_obs_2_get_tells_the_last_observation_however_old_it_is() -> None:
    running = {"now": 1}
    host = Management(counts=lambda uid: dict.fromkeys(STATUSES, 0) | {"running": running["now"]})
    uid = host.set_up_probe(0, {"v1": FIT}, {"v1": 10000})
    host.observe_workflow(10)
    running["now"] = 2
    old = host.read(20, uid)
    assert old["observedAt"] == "1970-01-01T00:00:00.010Z"
    assert old["observed"]["instanceCounts"]["running"] == 1
    assert host.counts(30)["running"] == 2
    assert isinstance(host.apply(Observe(29, uid, dict.fromkeys(STATUSES, 0))).reply, Illegal)


def test_abi_1_is_looked_at_in_python_exports() -> None:
    class Right:
        def run(self) -> None: ...

    class Lacking: ...

    found = inspect({"Right": Right, "Lacking": Lacking, "instance": Right(), "number": 1})
    assert found == {"Right": True, "Lacking": False, "instance": False, "number": False}
