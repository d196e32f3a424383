"""The life of an Operation: its moves, its effects, and what the service makes of both."""

from __future__ import annotations

import itertools
import pickle

import pytest
from fencepost.management import STATUSES, Illegal, Progress, Reply, Request, State, apply, enabled
from fencepost.management.driver import Refused
from fencepost.management.forms import URLS
from fencepost.management.progress import EFFECTS, MOVES
from fencepost.management.service import Management
from fencepost.management.state import TERMINAL

FIT = {"Probe": True}


def test_the_moves_are_those_of_the_api() -> None:
    assert {(a, b) for a, ends in MOVES.items() for b in ends} == {
        ("queued", "running"),
        ("queued", "waiting_input"),
        ("running", "succeeded"),
        ("running", "failed"),
        ("running", "reconciling"),
        ("running", "waiting_input"),
        ("waiting_input", "queued"),
        ("reconciling", "running"),
        ("reconciling", "succeeded"),
        ("reconciling", "failed"),
    }
    assert set(MOVES) == set(EFFECTS)
    assert all("unknown" not in EFFECTS[status] for status in TERMINAL)


def pending() -> tuple[Management, str]:
    """A bundle whose verification is held, and its running Operation."""
    host = Management()
    host.hold_verification(True, 0)
    reply = host.create(0, "WorkerBundle", "b", host.publish("b", {}).spec)
    return host, reply.body["id"]


@pytest.mark.parametrize(
    ("path", "last"),
    [
        (["reconciling"], "running"),
        (["reconciling", "running", "reconciling"], "failed"),
        ([], "failed"),
    ],
)
def test_allowed_moves_are_taken(path: list[str], last: str) -> None:
    host, operation = pending()
    for now, status in enumerate([*path, last], start=1):
        error = ("internal_error", "the store was lost") if status == "failed" else None
        move = Progress(now, operation, status, error=error)  # type: ignore[arg-type]
        assert host.apply(move).reply is None
        assert host.state.operations[operation].status == status


@pytest.mark.parametrize(
    "move",
    [
        Progress(1, "none", "running"),
        Progress(1, "OPERATION", "queued"),
        Progress(1, "OPERATION", "running"),
        Progress(1, "OPERATION", "waiting_input"),
        Progress(1, "OPERATION", "succeeded"),  # its verification has not ended
        Progress(1, "OPERATION", "failed"),  # without an error
        Progress(1, "OPERATION", "failed", "unknown", ("a", "b")),
        Progress(1, "OPERATION", "failed", "complete", ("a", "b")),
        Progress(1, "OPERATION", "reconciling", "complete"),
    ],
)
def test_other_moves_are_illegal_and_change_nothing(move: Progress) -> None:
    host, operation = pending()
    if move.operation == "OPERATION":
        move = Progress(move.now, operation, move.status, move.effect, move.error)
    before = host.state
    transition = apply(before, move)
    assert isinstance(transition.reply, Illegal)
    assert transition.state is before


def test_a_terminal_operation_never_changes() -> None:
    host = Management()
    reply = host.create(0, "ModuleWorker", "w", {})
    operation = host.operation(reply)
    assert operation.status == "succeeded"
    for status, effect in itertools.product(MOVES, (None, "none", "partial")):
        for error in (None, ("a", "b")):
            move = Progress(1, operation.id, status, effect, error)  # type: ignore[arg-type]
            assert isinstance(apply(host.state, move).reply, Illegal)


def test_a_failed_create_keeps_the_record_in_error_until_a_put_or_delete() -> None:
    host, operation = pending()
    host.apply(Progress(1, operation, "failed", "partial", ("internal_error", "lost")))
    resource = host.named("b")
    assert resource is not None
    document = host.read(2, resource.uid)
    assert (document["phase"], document["observedGeneration"]) == ("error", 0)
    host.hold_verification(False, 3)
    host.succeeded(host.request(3, "PUT", f"/resources/{resource.uid}", {"spec": document["spec"]}))
    assert host.read(4, resource.uid)["observedGeneration"] == 2


def test_a_reply_tells_where_to_look_and_when() -> None:
    host = Management()
    reply = host.create(0, "ModuleWorker", "w", {})
    assert (reply.status, reply.location, reply.retry_after_seconds) == (
        202,
        f"/operations/{reply.body['id']}",
        1,
    )
    shown = host.request(1, "GET", reply.location or "")
    assert (shown.status, shown.body["status"], shown.retry_after_seconds) == (200, "succeeded", None)


@pytest.mark.parametrize(
    ("uid", "operation"),
    [("UID", "new"), ("new", "OPERATION"), ("DELETED", "new"), ("-", "new"), ("new", "")],
)
def test_ids_that_are_not_fresh_are_the_hosts_own_fault(uid: str, operation: str) -> None:
    host = Management()
    deleted = host.made(0, "ModuleWorker", "w", {})
    host.request(0, "DELETE", f"/resources/{deleted}")
    reply = host.create(0, "ModuleWorker", "w", {})
    known = {"UID": reply.body["resourceUid"], "OPERATION": reply.body["id"], "DELETED": deleted}
    request = Request(
        now=1,
        method="POST",
        target="/resources",
        uid=known.get(uid, uid),
        operation=known.get(operation, operation),
        principal="owner",
        spaces=frozenset({"default"}),
        key="a-key-of-its-own",
        body={"form": URLS["ModuleWorker"], "space": "default", "name": "x", "spec": {}},
    )
    transition = apply(host.state, request)
    assert isinstance(transition.reply, Reply)
    assert (transition.reply.status, transition.reply.code) == (500, "internal_error")
    assert transition.state is host.state


# the service


def test_nothing_is_enabled_where_nothing_is_to_be_done() -> None:
    assert enabled(State(), 0) == ()
    host = Management()
    host.set_up_probe(0, {"v1": FIT}, {"v1": 10000})
    assert enabled(host.state, 1) == ()


def test_a_probe_is_set_up_by_ordinary_requests() -> None:
    host = Management()
    uid = host.set_up_probe(0, {"v1": FIT, "v2": FIT}, {"v1": 2500, "v2": 7500})
    assert (host.workflow, host.ready(), host.bound) == (uid, True, True)
    assert host.weights() == {"v1": 2500, "v2": 7500}
    assert [host.choose(point) for point in (0, 2499, 2500, 9999)] == ["v1", "v1", "v2", "v2"]
    host.deploy(1, {"v2": 10000})
    assert host.choose(0) == "v2"
    assert host.counts(2) == dict.fromkeys(STATUSES, 0)
    assert host.read(2, uid)["observed"]["ready"] is True


def test_unbind_leaves_the_probe_deployed_and_delete_waits_for_the_purge() -> None:
    host = Management()
    first = host.set_up_probe(0, {"v1": FIT}, {"v1": 10000})
    host.unbind(1)
    assert (host.bound, host.ready()) == (False, True)
    reply = host.delete_workflow(2)
    assert (host.ready(), host.operation(reply).finished) == (False, False)
    with pytest.raises(Refused, match="name_conflict"):
        host.recreate_workflow(2)
    host.purged(3, first)
    assert (host.workflow, host.operation(reply).status) == (None, "succeeded")
    second = host.recreate_workflow(4)
    assert (host.workflow, host.bound, host.ready()) == (second, True, True)


def test_the_state_alone_is_enough_to_go_on_after_a_restart() -> None:
    host = Management()
    uid = host.set_up_probe(0, {"v1": FIT}, {"v1": 10000})
    host.unbind(1)
    reply = host.delete_workflow(2)
    state = pickle.loads(pickle.dumps(host.state))
    again = Management(state=state, serial=host.serial, artifacts=host.artifacts)
    again.settle(3)
    assert again.shown(reply)["status"] == "reconciling"
    again.purged(4, uid)
    assert again.shown(reply)["status"] == "succeeded"


def test_calls_of_a_scenario() -> None:
    host = Management()
    uid = host.set_up_probe(0, {"v1": FIT}, {"v1": 10000})
    assert host.call(1, "GET", "Workflow")["uid"] == uid
    spec = host.call(1, "GET", "Workflow")["resource"]["spec"]
    key = "a-key-of-one-request"
    first = host.call(2, "PUT", "Workflow", {"spec": spec}, key=key)
    again = host.call(3, "PUT", uid, {"spec": spec}, key=key)
    assert (first["status"], again["status"]) == (202, 200)
    assert again["operation"]["id"] == first["operation"]["id"]
    assert host.call(4, "GET", first["operation"]["id"])["operation"]["status"] == "succeeded"
    assert host.call(4, "DELETE", "Workflow") == {"status": 409, "code": "dependency_conflict"}
    assert host.call(4, "PUT", "Workflow", {"spec": spec}, generation=None)["status"] == 428
    made = host.call(5, "POST", "Worker", {"spec": {}})
    assert host.call(6, "GET", made["uid"])["resource"]["phase"] == "idle"
    assert host.call(6, "GET", made["uid"], principal="other")["status"] == 404
    lacking = host.publish("lacking", {})
    bundle = host.call(7, "POST", "Bundle", {"spec": lacking.spec})
    version = {
        "worker": {"resourceUid": host.uid("probe-worker")},
        "bundle": {"resourceUid": bundle["uid"]},
        "handlers": [],
    }
    misfit = host.call(8, "POST", "Version", {"spec": version})["uid"]
    weights = [{"workerVersion": {"resourceUid": misfit}, "weight": 10000}]
    deployed = host.call(9, "PUT", "Deployment", {"spec": {"worker": version["worker"], "versions": weights}})
    assert deployed["status"] == 202
    assert host.call(9, "GET", deployed["operation"]["id"])["operation"]["status"] == "failed"
    assert host.weights() == {"v1": 10000}


def test_a_probe_may_bind_itself() -> None:
    host = Management()
    uid = host.set_up_probe(0, {"v1": FIT}, {"v1": 10000}, own_binding=True)
    host.unbind(1)
    assert host.delete_workflow(2).code == "dependency_conflict"
    assert host.workflow == uid
