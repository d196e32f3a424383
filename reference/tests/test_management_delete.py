"""The chapter DEL: what blocks a DELETE, what it waits for, and what is left afterwards."""

from __future__ import annotations

import pytest
from fencepost.management import STATUSES, Illegal, Progress, Purged, queries
from fencepost.management.service import Management, reference

FIT = {"Probe": True}
KEY = "a-key-of-one-request"


@pytest.fixture
def management() -> Management:
    """A probe Workflow on one Version, deployed, with a caller that binds it."""
    host = Management()
    host.set_up_probe(0, {"v1": FIT}, {"v1": 10000})
    return host


@pytest.mark.parametrize("weighted", [True, False])
def test_del_1_a_version_that_binds_the_workflow_blocks_weighted_or_not(
    management: Management, weighted: bool
) -> None:
    if not weighted:
        caller = management.uid("caller-deployment")
        management.request(1, "DELETE", f"/resources/{caller}")
        management.retired(1, caller)
    before = management.state
    reply = management.delete_workflow(2)
    assert (reply.status, reply.code) == (409, "dependency_conflict")
    assert management.state is before


def test_del_1_neither_instances_nor_an_exporting_version_block() -> None:
    host = Management(counts=lambda uid: dict.fromkeys(STATUSES, 1))
    host.set_up_probe(0, {"v1": FIT}, {"v1": 10000})
    host.unbind(1)
    reply = host.delete_workflow(2)  # the weighted Version goes on exporting the class
    assert reply.status == 202
    assert host.weights() == {"v1": 10000}


def test_del_1_a_binding_version_whose_create_is_unfinished_blocks_too(management: Management) -> None:
    management.unbind(1)
    management.hold_verification(True, 2)
    management.bind(2)
    assert management.delete_workflow(3).code == "dependency_conflict"


def test_del_3_and_del_4_the_same_operation_reconciles_until_the_purge_is_reported(
    management: Management,
) -> None:
    uid = management.uid("probe")
    management.unbind(1)
    reply = management.delete_workflow(2)
    assert (reply.status, reply.body["status"], reply.body["effect"]) == (202, "queued", "none")
    assert queries.closing(management.state) == (uid,)
    assert queries.admission(management.state, uid) == "closed"
    operation = reply.body["id"]
    spec = {"worker": reference(management.uid("probe-worker")), "className": "Probe"}
    for now in range(3, 6):
        management.settle(now)
        shown = management.request(now, "GET", f"/operations/{operation}").body
        assert (shown["status"], shown["effect"]) == ("reconciling", "unknown")
        for status in ("succeeded", "failed"):
            error = ("internal", "no") if status == "failed" else None
            move = Progress(now, operation, status, error=error)
            assert isinstance(management.apply(move).reply, Illegal)
        taken = management.create(now, "DurableWorkflow", "probe", spec)
        assert taken.code == "name_conflict"
        document = management.read(now, uid)
        assert (document["phase"], document["generation"]) == ("deleting", 2)
    management.purged(6, uid)
    shown = management.request(6, "GET", f"/operations/{operation}").body
    assert (shown["status"], shown["effect"]) == ("succeeded", "complete")
    assert management.request(6, "GET", f"/resources/{uid}").code == "gone"
    assert queries.closing(management.state) == ()


def test_del_4_a_purge_is_believed_only_for_a_delete_under_way(management: Management) -> None:
    uid = management.uid("probe")
    assert isinstance(management.apply(Purged(1, uid)).reply, Illegal)
    management.unbind(1)
    management.request(2, "DELETE", f"/resources/{uid}", settle=False)
    assert isinstance(management.apply(Purged(2, uid)).reply, Illegal)  # nothing was dispatched yet
    management.settle(3)
    management.purged(3, uid)
    assert isinstance(management.apply(Purged(4, uid)).reply, Illegal)


def test_del_6_nothing_else_is_removed(management: Management) -> None:
    uid = management.uid("probe")
    management.unbind(1)
    kept = set(management.state.resources) - {uid}
    management.delete_workflow(2)
    management.purged(3, uid)
    assert set(management.state.resources) == kept
    assert management.weights() == {"v1": 10000}


def test_del_8_the_original_key_reaches_the_same_operation_before_and_after(management: Management) -> None:
    uid = management.uid("probe")
    management.unbind(1)
    first = management.request(2, "DELETE", f"/resources/{uid}", key=KEY)
    during = management.request(3, "DELETE", f"/resources/{uid}", key=KEY)
    assert (during.status, during.body["id"]) == (202, first.body["id"])
    management.purged(4, uid)
    after = management.request(5, "DELETE", f"/resources/{uid}", key=KEY)
    assert (after.status, after.body["id"], after.body["status"]) == (200, first.body["id"], "succeeded")
    assert management.request(5, "DELETE", f"/resources/{uid}", generation=2).code == "gone"


def test_del_9_busy_and_dependent_are_told_apart(management: Management) -> None:
    uid = management.uid("probe")
    assert management.delete_workflow(1).code == "dependency_conflict"
    management.unbind(2)
    spec = management.read(2, uid)["spec"]
    management.request(3, "PUT", f"/resources/{uid}", {"spec": spec}, settle=False)
    assert management.delete_workflow(3).code == "resource_busy"
    management.settle(4)
    assert management.delete_workflow(5).status == 202
    assert management.delete_workflow(6).code == "resource_busy"
    caller = management.uid("caller-worker")
    binding = {
        "worker": reference(caller),
        "bundle": reference(management.uid("caller-bundle")),
        "handlers": [],
        "workflowBindings": [{"name": "PROBE", "resource": reference(uid)}],
    }
    assert management.create(7, "WorkerVersion", "late", binding).code == "resource_busy"
