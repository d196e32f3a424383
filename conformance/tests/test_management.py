"""Entries that manage resources, against a small management API that tells what it was asked."""

import pytest
from fencepost_conformance.adapter import INSTRUMENTS, PROTOCOL
from fencepost_conformance.inprocess import InProcess
from fencepost_conformance.management import STATUSES
from fencepost_conformance.runner import run_scenario
from fencepost_conformance.scenario import Scenario


class Managed:
    """Accepts every mutation; an Operation is finished once the Host was settled twice after it."""

    def __init__(self, refuse=None, observed=None, stuck=False):
        self.refuse, self.stuck = refuse or {}, stuck
        self.observed = (
            {"ready": True, "instanceCounts": dict.fromkeys(STATUSES, 0)} if observed is None else observed
        )
        self.requests, self.operations, self.resources_by_uid = [], {}, {}
        self.predefined = {"workflow": self.add("w", {"className": "Probe"}), "worker": self.add("k", {})}
        self.reused = False

    def add(self, name, spec):
        uid = f"uid-{len(self.resources_by_uid)}"
        self.resources_by_uid[uid] = {
            "uid": uid,
            "name": name,
            "generation": 1,
            "spec": spec,
            "phase": "idle",
        }
        return uid

    def handshake(self, hello):
        host = {"name": "managed", "version": "1"}
        return {"protocol": PROTOCOL, "host": host, "instruments": list(INSTRUMENTS), "leaseSeconds": 0}

    def begin(self, setup):
        self.token = setup.token

    def end(self):
        pass

    def settle(self):
        for operation in self.operations.values():
            operation["age"] += 1
            if operation["age"] > 1 and not self.stuck:
                operation["status"] = "succeeded"

    def resources(self):
        return dict(self.predefined)

    def recreate_resource(self):
        if not self.reused:
            self.predefined["workflow"] = self.add("w", {"className": "Probe"})

    def unbind(self):
        self.requests.append("unbind")

    bind = unbind

    def verify(self, state):
        self.requests.append(f"verify {state}")

    def deploy(self, weights):
        self.requests.append(f"deploy {weights}")

    def drop_response(self, call):
        call.perform(self)

    def resource(self, request):
        self.requests.append(dict(request))
        method = request["method"]
        if method in self.refuse:
            return self.refuse[method]
        if "operation" in request:
            return {"status": 200, "operation": dict(self.operations[request["operation"]])}
        if method == "GET":
            resource = self.resources_by_uid.get(request["uid"])
            if resource is None:
                return {"status": 404, "code": "not_found"}
            return {"status": 200, "resource": {**resource, "observed": self.observed}}
        uid = self.add(request["name"], request["spec"]) if method == "POST" else request["uid"]
        if method == "PUT":
            self.resources_by_uid[uid]["generation"] += 1
        if method == "DELETE":
            del self.resources_by_uid[uid]
        id = f"operation-{len(self.operations)}"
        self.operations[id] = {"id": id, "resourceUid": uid, "status": "queued", "effect": "none", "age": 0}
        return {"status": 202, "operation": dict(self.operations[id])}

    def made(self, method):
        return [each for each in self.requests if isinstance(each, dict) and each["method"] == method]


def run(*schedule, host=None):
    document = {"title": "t", "clauses": ["RES-1"], "programs": {}, "schedule": list(schedule)}
    return run_scenario(InProcess(host or Managed()), Scenario("s", document))


POST = {"resource": "POST", "on": "Workflow", "body": {"worker": {"resourceUid": {"$": "worker.uid"}}}}


def test_an_accepted_operation_is_waited_for_and_kept():
    host = Managed()
    result = run(
        {**POST, "name": "mine", "key": "k", "as": "x"},
        {
            "resource": "GET",
            "on": "x",
            "expect": {"status": 200, "resource": {"generation": 1, "uid": {"$": "x.uid"}}},
        },
        {
            "resource": "GET",
            "on": "x.operation",
            "expect": {"operation": {"status": "succeeded", "id": {"$": "x.operation"}}},
        },
        host=host,
    )
    assert (result.outcome, result.differences) == ("passed", ())
    (post,) = host.made("POST")
    assert post["spec"] == {"worker": {"resourceUid": "uid-1"}}
    assert (post["kind"], post["space"], post["principal"]) == ("Workflow", "default", "owner")
    assert post["name"] == f"{host.token}-mine"
    assert post["key"].startswith(f"{host.token}:k")
    assert len(post["key"]) >= 16


def test_an_operation_that_never_ends_is_a_difference():
    result = run(POST, host=Managed(stuck=True))
    assert result.differences[0].message == "operation.status is 'queued', 'succeeded' expected"
    unfinished = {**POST, "expect": {"status": 202, "operation": {"status": "unfinished"}}}
    assert run(unfinished, host=Managed(stuck=True)).outcome == "passed"


def test_refusals_are_held_against_status_and_code():
    host = lambda: Managed(refuse={"PUT": {"status": 409, "code": "dependency_conflict"}})  # noqa: E731
    put = {"resource": "PUT", "on": "workflow"}
    for expect in (
        {"status": 409, "code": "dependency_conflict"},
        {"status": [404, 409], "code": ["gone", "dependency_conflict"]},
        {"status": "4xx"},
        [{"status": 202}, {"status": 409}],
        {"any": True},
    ):
        assert run({**put, "expect": expect}, host=host()).outcome == "passed"
    for expect in ({"status": 409, "code": "resource_busy"}, {"status": "5xx"}, {"status": 422}):
        result = run({**put, "expect": expect, "clause": "RES-8"}, host=host())
        assert [each.clause for each in result.differences] == ["RES-8"]
    assert run(put, host=host()).differences[0].message.startswith("status is 409 dependency_conflict")


def test_an_acceptance_where_a_refusal_was_due_is_a_difference():
    result = run({**POST, "expect": {"status": 422, "code": "invalid_spec"}})
    assert result.differences[0].message == "status is 202, 422 expected"


def test_an_update_takes_the_spec_and_the_generation_that_it_finds():
    host = Managed()
    put = {"resource": "PUT", "on": "workflow", "key": "k"}
    assert (
        run(put, put, {**put, "key": "other"}, {**put, "generation": 7, "body": {}}, host=host).outcome
        == "passed"
    )
    puts = host.made("PUT")
    assert [each["generation"] for each in puts] == [1, 1, 3, 7]
    assert puts[0]["key"] == puts[1]["key"] != puts[2]["key"]
    assert [each["spec"] for each in puts] == [{"className": "Probe"}] * 3 + [{}]


def test_an_observation_is_made_after_the_entry_and_judged():
    host = Managed(observed={"ready": True, "instanceCounts": {**dict.fromkeys(STATUSES, 0), "running": 2}})
    fits = ({"ready": True}, {"counts": {"running": 2, "queued": {"atMost": 0}}}, {"observe": True})
    assert run(*fits, host=host).outcome == "passed"
    assert len(host.made("PUT")) == 3
    wrong = run({"ready": False}, {"counts": {"running": 1}, "clause": "OBS-2"}, host=Managed())
    assert [each.clause for each in wrong.differences] == ["RES-1", "OBS-2"]


@pytest.mark.parametrize(
    "observed", [{}, {"ready": 1, "instanceCounts": {}}, {"ready": True, "instanceCounts": {"queued": 0}}]
)
def test_an_observation_without_all_its_parts_blames_the_clause_that_lists_them(observed):
    result = run({"counts": {"queued": 0}}, host=Managed(observed=observed))
    assert [each.clause for each in result.differences] == ["OBS-1"]


def test_observed_is_compared_by_key_and_the_empty_one_exactly():
    get = {"resource": "GET", "on": "workflow"}
    named = {**get, "expect": {"resource": {"observed": {"ready": True, "instanceCounts": {"queued": 0}}}}}
    empty = {**get, "expect": {"resource": {"observed": {}}}}
    assert run(named).outcome == "passed"
    assert run(empty).outcome == "failed"
    assert run(empty, host=Managed(observed={})).outcome == "passed"


def test_a_recreated_resource_has_another_uid():
    schedule = [{"unbind": True}, {"deleteResource": True}, {"recreateResource": True}]
    assert run(*schedule).outcome == "passed"
    host = Managed()
    host.reused = True
    assert [each.clause for each in run(*schedule, host=host).differences] == ["DEL-7"]


def test_the_probe_s_own_resources_are_read_anew_and_kept_ones_are_not():
    host = Managed()
    result = run(
        {"resource": "GET", "on": "workflow", "as": "old"},
        {"deleteResource": True},
        {"recreateResource": True},
        {"resource": "GET", "on": "old", "expect": {"status": [404, 410]}},
        {"resource": "GET", "on": "workflow", "expect": {"status": 200}},
        host=host,
    )
    assert (result.outcome, result.differences) == ("passed", ())


def test_calls_can_be_in_flight_or_lose_their_answers():
    host = Managed()
    result = run(
        {"dropResponse": {**POST, "key": "lost"}},
        {"start": {**POST, "key": "lost", "as": "x"}, "as": "c"},
        {"await": "c", "expect": {"status": [200, 202]}},
        {"resource": "GET", "on": "x"},
        {"verify": "pending"},
        {"bind": True},
        {"deploy": {}},
        host=host,
    )
    assert (result.outcome, result.differences) == ("passed", ())
    first, second = host.made("POST")
    assert first["key"] == second["key"]
    assert [each for each in host.requests if isinstance(each, str)] == [
        "verify pending",
        "unbind",
        "deploy {}",
    ]
