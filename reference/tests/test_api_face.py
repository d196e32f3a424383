"""Requests to the HTTP face and what the API says that they are answered with: status, code and headers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from api_client import OWNER, STRANGER, Client, Desk, fresh_key, published, reference, send
from fencepost.api.store import Memory, StoreUnavailable
from fencepost.api.table import DISCOVERY, GENERATION, KEY, ROOT
from fencepost.management import forms
from fencepost.management.state import Rules, State

JSON = ("Content-Type", "application/json")
WORKER = forms.URLS["ModuleWorker"]
WORKFLOW = forms.URLS["DurableWorkflow"]


def frame(name: str = "w", form: str = WORKER, spec: str = "{}", more: bytes = b"") -> bytes:
    members = f'"form": "{form}", "space": "default", "name": "{name}", "spec": {spec}}}'
    return b"{" + more + members.encode()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with Desk(tmp_path_factory.mktemp("bundles")) as made:
        yield made


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Desk]:
    with Desk(tmp_path) as made:
        yield made


# method, path below the root, more headers, body -> status, code
Row = tuple[str, str, list[tuple[str, str]], bytes, int, str]
KEYED = (KEY, "0123456789abcdef")
DEEP = b'{"form": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"

REQUESTS: list[Row] = [
    # paths and methods
    ("GET", "", [], b"", 404, "not_found"),
    ("GET", "/", [], b"", 404, "not_found"),
    ("GET", "/resources/", [], b"", 404, "not_found"),
    ("GET", "/resources/a/b", [], b"", 404, "not_found"),
    ("GET", "/resources/%2F", [], b"", 404, "not_found"),
    ("GET", "/resources/%FF", [], b"", 404, "not_found"),
    ("GET", "/resources/nobody", [], b"", 404, "not_found"),
    ("GET", "/operations/nothing", [], b"", 404, "not_found"),
    ("GET", "/offerings", [], b"", 404, "capability_unavailable"),
    ("GET", "/previews", [], b"", 404, "capability_unavailable"),
    ("DELETE", "/resources", [], b"", 405, "method_not_allowed"),
    ("PATCH", "/resources/a", [], b"", 405, "method_not_allowed"),
    ("HEAD", "/support", [], b"", 405, "method_not_allowed"),
    ("POST", "/operations/a", [KEYED, JSON], b"{}", 405, "method_not_allowed"),
    # the query
    ("GET", "/support", [], b"", 400, "invalid_request"),
    ("GET", "/support?form=http://plain.example/", [], b"", 400, "invalid_request"),
    ("GET", "/support?form=https://a.example/&form=https://a.example/", [], b"", 400, "invalid_request"),
    ("GET", "/support?form=https://a.example/%23x", [], b"", 400, "invalid_request"),
    ("GET", "/support?form=%FF", [], b"", 400, "invalid_request"),
    ("GET", "/support?form=%zz", [], b"", 400, "invalid_request"),
    ("GET", "/support?form", [], b"", 400, "invalid_request"),
    ("GET", "/resources?limit=0", [], b"", 400, "invalid_request"),
    ("GET", "/resources?limit=101", [], b"", 400, "invalid_request"),
    ("GET", "/resources?limit=1.0", [], b"", 400, "invalid_request"),
    ("GET", "/resources?colour=red", [], b"", 400, "invalid_request"),
    ("GET", "/resources?cursor=%00", [], b"", 400, "invalid_request"),
    ("GET", "/resources?name=-a", [], b"", 400, "invalid_request"),
    ("GET", "/operations/nothing?a=b", [], b"", 400, "invalid_request"),
    # headers
    ("POST", "/resources", [JSON], frame(), 400, "invalid_request"),
    ("POST", "/resources", [JSON, (KEY, "short")], frame(), 400, "invalid_request"),
    ("POST", "/resources", [JSON, (KEY, "-" * 16)], frame(), 400, "invalid_request"),
    ("POST", "/resources", [JSON, KEYED, KEYED], frame(), 400, "invalid_request"),
    ("POST", "/resources", [JSON, KEYED, (GENERATION, "x")], frame(), 400, "invalid_request"),
    ("DELETE", "/resources/nobody", [KEYED, (GENERATION, "-1")], b"", 400, "invalid_request"),
    ("DELETE", "/resources/nobody", [KEYED, (GENERATION, "1")], b"", 404, "not_found"),
    # media types
    ("POST", "/resources", [KEYED], frame(), 415, "unsupported_media_type"),
    ("POST", "/resources", [KEYED, ("Content-Type", "text/json")], frame(), 415, "unsupported_media_type"),
    (
        "POST",
        "/resources",
        [KEYED, ("Content-Type", "application/json; charset=latin-1")],
        frame(),
        415,
        "unsupported_media_type",
    ),
    ("POST", "/resources", [KEYED, JSON, ("Content-Encoding", "gzip")], b"x", 415, "unsupported_media_type"),
    # bodies
    ("POST", "/resources", [KEYED], b"", 400, "invalid_request"),
    ("GET", "/resources", [JSON], b"{}", 400, "invalid_request"),
    ("DELETE", "/resources/a", [JSON, KEYED, (GENERATION, "1")], b"{}", 400, "invalid_request"),
    ("POST", "/resources", [KEYED, JSON], b"{", 400, "invalid_request"),
    ("POST", "/resources", [KEYED, JSON], b"[]", 400, "invalid_request"),
    ("POST", "/resources", [KEYED, JSON], b"null", 400, "invalid_request"),
    ("POST", "/resources", [KEYED, JSON], b"\xef\xbb\xbf" + frame(), 400, "invalid_request"),
    ("POST", "/resources", [KEYED, JSON], frame().replace(b'"w"', b'"\xff"'), 400, "invalid_request"),
    ("POST", "/resources", [KEYED, JSON], frame().replace(b'"w"', b'"\\ud800"'), 400, "invalid_request"),
    ("POST", "/resources", [KEYED, JSON], b'{"form": NaN}', 400, "invalid_request"),
    ("POST", "/resources", [KEYED, JSON], frame(spec='{"a": 1e999}'), 400, "invalid_request"),
    ("POST", "/resources", [KEYED, JSON], frame(spec='{"a": 1, "a": 1}'), 400, "invalid_request"),
    (
        "POST",
        "/resources",
        [KEYED, JSON],
        frame().replace(b"{", b'{"name": "v", ', 1),
        400,
        "invalid_request",
    ),
    ("POST", "/resources", [KEYED, JSON], DEEP, 400, "invalid_request"),
    ("POST", "/resources", [KEYED, JSON], b"[" * 100_000, 400, "invalid_request"),
    ("POST", "/resources", [KEYED, JSON], frame().replace(b'"w"', b"7"), 400, "invalid_request"),
    ("POST", "/resources", [KEYED, JSON], frame(name="-"), 400, "invalid_request"),
    ("POST", "/resources", [KEYED, JSON], frame(spec="null"), 400, "invalid_request"),
    (
        "POST",
        "/resources",
        [KEYED, JSON],
        frame().replace(b"{", b'{"colour": 1, ', 1),
        400,
        "invalid_request",
    ),
    ("POST", "/resources", [KEYED, JSON], b" " * 4_194_305, 413, "request_too_large"),
    # what the Forms say
    ("POST", "/resources", [KEYED, JSON], frame(form="https://a.example/"), 422, "unsupported_form"),
    ("POST", "/resources", [KEYED, JSON], frame(form=WORKER[:-1]), 422, "unsupported_form"),
    ("POST", "/resources", [KEYED, JSON], frame(spec='{"a": 1}'), 422, "invalid_spec"),
    ("POST", "/resources", [KEYED, JSON], frame(form=WORKFLOW), 422, "invalid_spec"),
    (
        "POST",
        "/resources",
        [KEYED, JSON],
        frame(more=b'"privateInputs": {"a": "b"}, '),
        422,
        "capability_required",
    ),
    (
        "POST",
        "/resources",
        [KEYED, JSON],
        frame().replace(b'"default"', b'"elsewhere"'),
        403,
        "forbidden",
    ),
]


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status", "code"),
    REQUESTS,
    ids=[f"{number}-{row[0]}-{row[5]}" for number, row in enumerate(REQUESTS)],
)
def test_what_is_refused(
    desk: Desk, method: str, path: str, headers: list[Any], body: bytes, status: int, code: str
) -> None:
    before = desk.steward.state
    told = send(desk.app, method, ROOT + path, [("Authorization", f"Bearer {OWNER}"), *headers], body)
    assert (told.status, told.json["code"]) == (status, code), told.body
    assert told.headers["content-type"] == "application/problem+json"
    assert told.headers["cache-control"] == "no-store"
    assert told.json["type"] == "about:blank"
    assert told.json["status"] == status
    assert told.json["title"]
    assert ("allow" in told.headers) == (status == 405)
    assert desk.steward.state is before


@pytest.mark.parametrize(
    ("headers", "challenge"),
    [
        ([], 'Bearer realm="fencepost"'),
        ([("Authorization", OWNER)], 'Bearer realm="fencepost", error="invalid_token"'),
        ([("Authorization", f"Basic {OWNER}")], 'Bearer realm="fencepost", error="invalid_token"'),
        ([("Authorization", f"Bearer {OWNER}x")], 'Bearer realm="fencepost", error="invalid_token"'),
        ([("Authorization", f"Bearer {OWNER}")] * 2, 'Bearer realm="fencepost", error="invalid_token"'),
    ],
)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("GET", "/resources", b""), ("GET", "/nowhere", b""), ("POST", "/resources", b"[" * 5_000_000)],
)
def test_who_asks_comes_before_everything_else(
    desk: Desk, method: str, path: str, body: bytes, headers: list[Any], challenge: str
) -> None:
    told = send(desk.app, method, ROOT + path, headers, body)
    assert (told.status, told.code) == (401, "unauthenticated")
    assert told.headers["www-authenticate"] == challenge


@pytest.mark.parametrize(
    "headers",
    [
        [("Host", "rebound.example")],
        [("Host", "127.0.0.1:8734"), ("Origin", "https://page.example")],
        [("Host", "127.0.0.1:8734"), ("Origin", "http://127.0.0.1:1")],
    ],
)
def test_pages_of_a_browser_reach_nothing(desk: Desk, headers: list[Any]) -> None:
    for path in (DISCOVERY, f"{ROOT}/resources"):
        told = send(desk.app, "GET", path, [("Authorization", f"Bearer {OWNER}"), *headers])
        assert (told.status, told.code) == (403, "forbidden")


def test_discovery_is_for_anybody_and_says_where_the_api_is(desk: Desk) -> None:
    told = send(desk.app, "GET", DISCOVERY)
    assert told.status == 200
    shown = told.json
    assert shown["api"] == "forms.takoform.com/v2"
    assert shown["baseUrl"] == f"http://127.0.0.1:8734{ROOT}"
    assert shown["authentication"]["schemes"] == ["Bearer"]
    assert shown["capabilities"] == {"offerings": False, "previews": False, "privateInputs": False}
    page = send(desk.app, "GET", shown["documentation"].removeprefix("http://127.0.0.1:8734"))
    assert page.status == 200
    assert b"Deviation" in page.body
    assert send(desk.app, "POST", DISCOVERY).headers["allow"] == "GET"
    assert send(desk.app, "GET", f"{DISCOVERY}?a=b").code == "invalid_request"
    assert send(desk.app, "GET", "/elsewhere").code == "not_found"


@pytest.mark.parametrize(("form", "supported"), [(WORKFLOW, True), (WORKFLOW[:-1], False)])
def test_support_echoes_the_form(desk: Desk, form: str, supported: bool) -> None:
    told = desk.client.call("GET", f"/support?form={form}")
    operations = ["create", "read", "update", "delete"] if supported else []
    assert told.json == {
        "form": form,
        "supported": supported,
        "operations": operations,
        "privateInputs": False,
    }


def test_an_acceptance_has_its_headers_and_goes_on(own: Desk) -> None:
    key = fresh_key()
    body = {"form": WORKER, "space": "default", "name": "w", "spec": {}}
    told = own.client.call("POST", "/resources", body, key=key)
    assert told.status == 202
    assert told.headers["location"] == f"http://127.0.0.1:8734{ROOT}/operations/{told.json['id']}"
    assert told.headers["retry-after"] == "1"
    assert own.client.settled(told)["status"] == "succeeded"
    again = own.client.call("POST", "/resources", body, key=key)  # DEL-8
    assert (again.status, again.json["id"]) == (200, told.json["id"])
    assert "retry-after" not in again.headers
    uid = told.json["resourceUid"]
    assert own.client.call("GET", f"/resources/%{ord(uid[0]):02x}{uid[1:]}").json["uid"] == uid


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"spec":{},"name":"w","space":"default","form":"%s"}', None),
        (b'\n{"form": "%s", "space": "default", "name": "\\u0077", "spec": { } }', None),
        (b'{"form": "%s", "space": "default", "name": "v", "spec": {}}', "idempotency_conflict"),
    ],
)
def test_a_key_stands_for_a_json_value(own: Desk, body: bytes, code: str | None) -> None:
    headers = [("Authorization", f"Bearer {OWNER}"), JSON, KEYED]
    first = send(own.app, "POST", f"{ROOT}/resources", headers, frame())
    told = send(own.app, "POST", f"{ROOT}/resources", headers, body % WORKER.encode())
    assert told.code == code
    assert told.json["id" if code is None else "operationId"] == first.json["id"]
    stranger = [("Authorization", f"Bearer {STRANGER}"), JSON, KEYED]
    other = send(own.app, "POST", f"{ROOT}/resources", stranger, frame(name="theirs"))
    assert other.status == 202  # a key is its principal's own


def test_generations_guard_what_was_read(own: Desk) -> None:
    uid = own.client.made("ModuleWorker", {})
    change = f"/resources/{uid}"
    assert (
        own.client.call("PUT", change, {"spec": {}}, key=fresh_key()).code == "expected_generation_required"
    )
    stale = own.client.call("PUT", change, {"spec": {}}, key=fresh_key(), generation=7)
    assert (stale.status, stale.code) == (409, "generation_conflict")
    assert own.client.settled(own.client.change("PUT", uid, {"spec": {}}))["generation"] == 2
    assert Client(own.app, STRANGER).call("GET", change).status == 404
    assert own.client.settled(own.client.change("DELETE", uid))["effect"] == "complete"
    assert own.client.call("GET", change).code == "gone"
    assert own.client.call("DELETE", change, key=fresh_key(), generation=3).code == "gone"


def test_pages_go_on_under_the_same_conditions_only(own: Desk) -> None:
    uids = sorted(own.client.made("ModuleWorker", {}) for _ in range(5))
    seen, cursor = [], ""
    while True:
        page = own.client.call("GET", f"/resources?limit=2&form={WORKER}{cursor}").json
        seen += [each["uid"] for each in page["items"]]
        if page["nextCursor"] is None:
            break
        cursor = f"&cursor={page['nextCursor']}"
    assert seen == uids
    assert own.client.call("GET", f"/resources?limit=2{cursor}").code == "invalid_request"
    stranger = Client(own.app, STRANGER)
    assert stranger.call("GET", f"/resources?form={WORKER}{cursor}").code == "invalid_request"


def test_a_cursor_expires(tmp_path: Path) -> None:
    with Desk(tmp_path, rules=Rules(cursor_seconds=-1)) as desk:
        for _ in range(2):
            desk.client.made("ModuleWorker", {})
        cursor = desk.client.call("GET", "/resources?limit=1").json["nextCursor"]
        told = desk.client.call("GET", f"/resources?limit=1&cursor={cursor}")
        assert (told.status, told.code) == (409, "cursor_expired")


class Failing(Memory):
    """A store that keeps nothing while it is down."""

    def __init__(self) -> None:
        super().__init__()
        self.down = False

    def commit(self, before: State, after: State) -> None:
        if self.down:
            raise StoreUnavailable("the disk is full")
        super().commit(before, after)


def test_what_cannot_be_kept_is_not_accepted(tmp_path: Path) -> None:
    store = Failing()
    with Desk(tmp_path, store=store) as desk:
        store.down = True
        told = desk.client.create("ModuleWorker", {}, "w")
        assert (told.status, told.code) == (503, "temporarily_unavailable")
        assert told.headers["retry-after"] == "1"
        store.down = False
        assert desk.client.call("GET", "/resources").json["items"] == []
        desk.client.made("ModuleWorker", {}, "w")


def test_a_fault_of_the_host_says_no_more_than_that(
    own: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(request: Any) -> Any:
        raise RuntimeError("a secret")

    monkeypatch.setattr(own.app, "_ask", broken)
    told = own.client.call("GET", "/resources")
    assert (told.status, told.code) == (500, "internal_error")
    assert b"secret" not in told.body
    assert "a secret" in capsys.readouterr().err


def test_an_operation_goes_on_in_the_next_process(tmp_path: Path) -> None:
    store = Memory()
    bundle = published(tmp_path, '{"Report": true}\n')
    held = tmp_path / json.loads((tmp_path / bundle["artifact"]["sha256"]).read_bytes())["files"][0]["sha256"]
    data = held.read_bytes()
    held.unlink()  # so that its verification waits
    with Desk(tmp_path, store=store) as desk:
        told = desk.client.create("WorkerBundle", bundle)
        worker = desk.client.made("ModuleWorker", {})
        assert desk.client.call("GET", f"/operations/{told.json['id']}").json["status"] in (
            "queued",
            "running",
        )
    held.write_bytes(data)
    with Desk(tmp_path, store=store) as desk:
        assert desk.client.settled(told)["status"] == "succeeded"
        spec = {"worker": reference(worker), "bundle": reference(told.json["resourceUid"]), "handlers": []}
        desk.client.made("WorkerVersion", spec)
