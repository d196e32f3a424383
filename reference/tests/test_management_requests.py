"""What holds for every call of the management API: frames, keys, generations, pages, and who may see what."""

from __future__ import annotations

from typing import Any

import pytest
from fencepost.management import ABSENT, Expire, Illegal, Reply, Rules
from fencepost.management.documents import discovery
from fencepost.management.forms import URLS
from fencepost.management.problems import STATUS_OF
from fencepost.management.service import Management

KEY = "a-key-of-one-request"
FRAME: dict[str, Any] = {"form": URLS["ModuleWorker"], "space": "default", "name": "w", "spec": {}}


@pytest.fixture
def host() -> Management:
    return Management(grants={"owner": ("default", "second"), "other": ("default",), "stranger": ()})


def post(host: Management, body: Any = FRAME, **options: Any) -> Reply:
    return host.request(1, "POST", "/resources", body, **options)


@pytest.mark.parametrize(
    ("method", "target", "status", "code"),
    [
        ("GET", "/", 404, "not_found"),
        ("GET", "", 404, "not_found"),
        ("GET", "/other", 404, "not_found"),
        ("GET", "/resources/", 404, "not_found"),
        ("GET", "/resources/a/b", 404, "not_found"),
        ("GET", "/resources/nothing", 404, "not_found"),
        ("GET", "/operations/nothing", 404, "not_found"),
        ("PUT", "/operations/x/other", 404, "not_found"),
        ("PUT", "/operations/x/private-inputs", 404, "capability_unavailable"),
        ("POST", "/previews", 404, "capability_unavailable"),
        ("GET", "/offerings", 404, "capability_unavailable"),
        ("DELETE", "/resources", 405, "method_not_allowed"),
        ("PATCH", "/resources/x", 405, "method_not_allowed"),
        ("POST", "/support", 405, "method_not_allowed"),
        ("GET", "/support", 400, "invalid_request"),
    ],
)
def test_routes(host: Management, method: str, target: str, status: int, code: str) -> None:
    reply = host.request(1, method, target)
    assert (reply.status, reply.code) == (status, code)
    assert reply.body["type"] == "about:blank"
    assert STATUS_OF[code] == status
    assert bool(reply.allow) == (status == 405)


def test_nobody_is_answered_without_authentication(host: Management) -> None:
    assert post(host, principal=None).code == "unauthenticated"
    assert host.request(1, "GET", "/resources", principal=None).status == 401


@pytest.mark.parametrize(
    "change",
    [
        {"form": ABSENT},
        {"space": ABSENT},
        {"name": ABSENT},
        {"spec": ABSENT},
        {"extra": 1},
        {"name": "-w"},
        {"name": "w" * 129},
        {"name": "w\n"},
        {"name": None},
        {"space": ""},
        {"space": 3},
        {"form": "ftp://x/"},
        {"form": "https://user@example.invalid/"},
        {"form": "https://example.invalid/?q"},
        {"form": "https:///x"},
        {"form": 1},
        {"spec": None},
        {"spec": []},
        {"offering": None},
        {"privateInputs": {"a": 1}},
        {"spec": {"x": float("nan")}},
        {"spec": {"x": "\ud800"}},
        {"spec": {"\udfff": 1}},
        {"spec": {"x": object()}},
        {"spec": {1: 1}},
    ],
)
def test_a_malformed_create_is_an_invalid_request(host: Management, change: dict[str, Any]) -> None:
    body = {key: value for key, value in (FRAME | change).items() if value is not ABSENT}
    reply = post(host, body)
    assert (reply.status, reply.code) == (400, "invalid_request")
    assert not host.state.resources


def test_nesting_is_bounded_without_recursion(host: Management) -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = [deep]
    assert post(host, FRAME | {"spec": {"x": deep}}).code == "invalid_request"


@pytest.mark.parametrize("body", [ABSENT, None, [], "x", 1])
def test_a_mutation_needs_an_object_as_body(host: Management, body: Any) -> None:
    assert post(host, body).code == "invalid_request"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"form": "https://example.invalid/forms/X/1.0.0/"}, "unsupported_form"),
        ({"form": URLS["ModuleWorker"].rstrip("/")}, "unsupported_form"),  # exact strings only
        ({"spec": {"x": 1}}, "invalid_spec"),
        ({"offering": {"id": "a", "revision": "1"}}, "capability_required"),
        ({"privateInputs": {"A": "secret"}}, "capability_required"),
        ({"privateInputs": {}}, None),
        ({"space": "third"}, "forbidden"),
        ({"space": "second"}, None),
    ],
)
def test_what_a_well_formed_create_meets(host: Management, change: dict[str, Any], code: str | None) -> None:
    assert post(host, FRAME | change).code == code


@pytest.mark.parametrize("key", [None, "", "short", "x" * 15, "x" * 129, "-" + "x" * 20, "x" * 20 + "\n"])
def test_a_mutation_needs_a_key(host: Management, key: str | None) -> None:
    assert post(host, key=key).code == "invalid_request"


@pytest.mark.parametrize("key", ["x" * 16, "x" * 128, "946eec36-4a6a-41de-8f3c-e83d2c58c246"])
def test_keys_of_every_allowed_length(host: Management, key: str) -> None:
    assert post(host, key=key).status == 202


def test_names_are_unique_in_a_space_across_forms(host: Management) -> None:
    assert post(host).status == 202
    bundle = FRAME | {"form": URLS["WorkerBundle"], "spec": host.publish("b", {}).spec}
    assert post(host, bundle).code == "name_conflict"
    assert post(host, bundle | {"space": "second"}).status == 202


@pytest.mark.parametrize(
    ("generation", "status", "code"),
    [
        (None, 428, "expected_generation_required"),
        (0, 409, "generation_conflict"),
        (2, 409, "generation_conflict"),
        ("1", 202, None),
        ("01", 400, "invalid_request"),
        ("-1", 400, "invalid_request"),
        ("1.0", 400, "invalid_request"),
        ("９", 400, "invalid_request"),
        ("9007199254740992", 400, "invalid_request"),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_generations(
    host: Management, method: str, generation: int | str | None, status: int, code: str | None
) -> None:
    uid = post(host).body["resourceUid"]
    body: Any = {"spec": {}} if method == "PUT" else ABSENT
    reply = host.request(2, method, f"/resources/{uid}", body, generation=generation)
    assert (reply.status, reply.code) == (status, code)


def test_a_delete_has_no_body(host: Management) -> None:
    uid = post(host).body["resourceUid"]
    assert host.request(2, "DELETE", f"/resources/{uid}", {}).code == "invalid_request"


# idempotency


def test_the_same_request_is_answered_with_the_original_operation(host: Management) -> None:
    first = post(host, key=KEY)
    state = host.state
    reordered = dict(reversed(FRAME.items()))
    again = post(host, reordered, key=KEY)
    assert (first.status, again.status) == (202, 200)
    assert again.body["id"] == first.body["id"]
    assert again.location == f"/operations/{first.body['id']}"
    assert host.state is state


def test_numbers_are_compared_by_value(host: Management) -> None:
    worker = post(host).body["resourceUid"]
    artifact = host.publish("b", {})
    bundle = host.made(1, "WorkerBundle", "b", artifact.spec)
    spec = {"worker": {"resourceUid": worker}, "bundle": {"resourceUid": bundle}, "handlers": []}
    body = FRAME | {"form": URLS["WorkerVersion"], "name": "v"}
    first = post(host, body | {"spec": spec | {"vars": {"n": 1, "z": 0}}}, key=KEY)
    again = post(host, body | {"spec": spec | {"vars": {"z": -0.0, "n": 1.0}}}, key=KEY)
    assert again.body["id"] == first.body["id"]
    assert post(host, body | {"spec": spec | {"vars": {"n": True, "z": 0}}}, key=KEY).code == (
        "idempotency_conflict"
    )


def test_the_key_is_looked_up_before_the_generation(host: Management) -> None:
    uid = post(host).body["resourceUid"]
    first = host.request(2, "PUT", f"/resources/{uid}", {"spec": {}}, generation=1, key=KEY)
    again = host.request(3, "PUT", f"/resources/{uid}", {"spec": {}}, generation=1, key=KEY)
    assert again.body["id"] == first.body["id"]
    other = host.request(3, "PUT", f"/resources/{uid}", {"spec": {}}, generation=2, key=KEY)
    assert other.code == "idempotency_conflict"


@pytest.mark.parametrize("change", [{"name": "x"}, {"spec": {"a": 1}}, {"form": "https://example.invalid/"}])
def test_another_request_under_the_key_is_a_conflict(host: Management, change: dict[str, Any]) -> None:
    post(host, key=KEY)
    state = host.state
    reply = post(host, FRAME | change, key=KEY)
    assert (reply.status, reply.code) == (409, "idempotency_conflict")
    assert host.state is state


def test_a_key_belongs_to_its_principal(host: Management) -> None:
    first = post(host, key=KEY)
    other = post(host, FRAME | {"name": "mine"}, key=KEY, principal="other")
    assert other.status == 202
    assert other.body["id"] != first.body["id"]


def test_a_key_is_kept_for_the_window_and_again_from_the_end() -> None:
    host = Management(rules=Rules(replay_window_seconds=10))
    first = host.request(0, "POST", "/resources", FRAME, key=KEY, settle=False)
    host.settle(5_000)
    assert host.shown(first)["retainUntil"] == "1970-01-01T00:00:15.000Z"
    assert isinstance(host.apply(Expire(15_000)).reply, Illegal)
    again = host.request(15_000, "POST", "/resources", FRAME, key=KEY)
    assert again.body["id"] == first.body["id"]
    host.settle(15_001)
    assert host.request(15_001, "GET", f"/operations/{first.body['id']}").status == 404
    assert host.request(15_001, "POST", "/resources", FRAME, key=KEY).code == "name_conflict"


def test_an_unfinished_operation_is_never_forgotten() -> None:
    host = Management(rules=Rules(replay_window_seconds=10))
    host.hold_verification(True, 0)
    reply = host.create(0, "WorkerBundle", "b", host.publish("b", {}).spec)
    host.settle(1_000_000)
    assert host.shown(reply)["status"] == "running"


# who may see what


def test_another_principal_sees_nothing(host: Management) -> None:
    reply = post(host)
    uid, operation = reply.body["resourceUid"], reply.body["id"]
    for principal in ("other", "stranger"):
        assert host.request(2, "GET", f"/resources/{uid}", principal=principal).status == 404
        assert host.request(2, "GET", f"/operations/{operation}", principal=principal).status == 404
        assert host.request(2, "GET", "/resources", principal=principal).body["items"] == []
        change = host.request(2, "DELETE", f"/resources/{uid}", principal=principal, generation=1)
        assert change.status == 404
    assert host.request(2, "GET", f"/resources/{uid}").status == 200


# lists


def uids(reply: Reply) -> list[str]:
    return [item["uid"] for item in reply.body["items"]]


def test_lists_are_paged_in_the_order_of_uids(host: Management) -> None:
    made = [post(host, FRAME | {"name": f"w{n}"}).body["resourceUid"] for n in range(5)]
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        reply = host.request(2, "GET", "/resources", query={"limit": "2", **cursor})
        seen += uids(reply)
        assert len(reply.body["items"]) <= 2
        if reply.body["nextCursor"] is None:
            break
        cursor = {"cursor": reply.body["nextCursor"]}
    assert seen == sorted(made)
    assert uids(host.request(2, "GET", "/resources")) == sorted(made)


def test_filters_are_equalities(host: Management) -> None:
    one = post(host).body["resourceUid"]
    two = post(host, FRAME | {"space": "second"}).body["resourceUid"]
    bundle = host.made(1, "WorkerBundle", "b", host.publish("b", {}).spec)

    def listed(**query: str) -> list[str]:
        return uids(host.request(2, "GET", "/resources", query=query))

    assert listed(space="second") == [two]
    assert listed(name="w") == sorted([one, two])
    assert listed(name="w", space="default") == [one]
    assert listed(form=URLS["WorkerBundle"]) == [bundle]
    assert listed(form="https://example.invalid/") == []
    assert listed(space="third") == []


@pytest.mark.parametrize(
    "query",
    [
        [("limit", "0")],
        [("limit", "101")],
        [("limit", "x")],
        [("limit", "1"), ("limit", "1")],
        [("unknown", "1")],
        [("space", "!")],
        [("form", "x")],
        [("cursor", "!")],
        [("cursor", "é")],
        [("cursor", "bnVsbA==")],
        [("cursor", "")],
    ],
)
def test_malformed_list_queries(host: Management, query: list[tuple[str, str]]) -> None:
    assert host.request(2, "GET", "/resources", query=query).code == "invalid_request"


def test_a_cursor_holds_under_its_own_conditions_and_for_its_time(host: Management) -> None:
    for n in range(3):
        post(host, FRAME | {"name": f"w{n}"})
    query = {"limit": "1", "space": "default"}
    cursor = host.request(2, "GET", "/resources", query=query).body["nextCursor"]
    good = {**query, "cursor": cursor}
    assert host.request(3, "GET", "/resources", query=good).status == 200
    assert host.request(3, "GET", "/resources", query=good | {"limit": "2"}).status == 200
    assert host.request(3, "GET", "/resources", query={"cursor": cursor}).code == "invalid_request"
    assert host.request(3, "GET", "/resources", query=good, principal="other").code == "invalid_request"
    assert host.request(3_600_003, "GET", "/resources", query=good).code == "cursor_expired"


def test_a_deleted_resource_leaves_the_lists_and_frees_its_name(host: Management) -> None:
    uid = post(host).body["resourceUid"]
    host.request(2, "DELETE", f"/resources/{uid}", settle=False)
    assert uids(host.request(2, "GET", "/resources")) == [uid]
    assert post(host).code == "name_conflict"
    host.settle(3)
    assert uids(host.request(3, "GET", "/resources")) == []
    assert post(host).status == 202


# support and discovery


@pytest.mark.parametrize("form", URLS.values())
def test_support_of_the_five_forms(host: Management, form: str) -> None:
    body = host.request(1, "GET", "/support", query={"form": form}).body
    assert body == {
        "form": form,
        "supported": True,
        "operations": ["create", "read", "update", "delete"],
        "privateInputs": False,
    }


def test_support_of_other_forms_is_a_plain_no(host: Management) -> None:
    form = "https://example.invalid/forms/X/1.0.0"
    body = host.request(1, "GET", "/support", query={"form": form}).body
    assert body == {"form": form, "supported": False, "operations": [], "privateInputs": False}
    assert host.request(1, "GET", "/support", query={"form": "X"}).status == 400
    assert host.request(1, "GET", "/support", query={"form": form, "x": "1"}).status == 400


def test_discovery_says_what_the_rules_say() -> None:
    document = discovery(Rules(), "https://h.invalid/api", "https://h.invalid/d", "https://h.invalid/a")
    assert document["limits"] == {
        "maxRequestBytes": 4_194_304,
        "maxPageSize": 100,
        "replayWindowSeconds": 86_400,
    }
    assert not any(document["capabilities"].values())
