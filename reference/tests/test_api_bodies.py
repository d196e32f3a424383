"""Bodies that are wrong, in every call that takes one, and the code that Host API v2 has for each.

What it names none for is `400 invalid_request` where the JSON or its frame is wrong, and `422 invalid_spec`
where a Form does not take the spec. Nothing is accepted, and nothing is a fault of the Host.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("starlette")

from api_client import ORIGIN, OWNER, Desk, Told, exchange, fresh_key, reference, send
from fencepost.api.front import PATH, Front
from fencepost.api.table import GENERATION, KEY, ROOT
from fencepost.api.workers import NoWorker
from fencepost.management import forms
from fencepost.management.state import Rules
from fencepost.serve.requests import BODY_BYTES

LIMIT = Rules().maximum_request_bytes
JSON = "application/json"


def nested(opened: str, closed: str, depth: int = 10_000) -> str:
    return opened * depth + "0" * (closed != "]") + closed * depth


# A spec of each Form with one place in it for anything.
SPECS = {
    "ModuleWorker": '{"a": %s}',
    "WorkerBundle": '{"artifact": %s}',
    "WorkerVersion": '{"worker": {"resourceUid": "WORKER"}, "handlers": [], "vars": {"A": %s}}',
    "WorkerDeployment": '{"worker": {"resourceUid": "WORKER"}, "versions": %s}',
    "DurableWorkflow": '{"worker": {"resourceUid": "WORKER"}, "className": %s}',
}

# What no JSON of the API may hold anywhere.
WRONG_JSON = {
    "nested arrays": nested("[", "]"),
    "nested objects": nested('{"a":', "}"),
    "nested both ways": nested('[{"a":', "}]"),
    "nested and not closed": "[" * 10_000,
    "a key twice": '{"a": 1, "a": 1}',
    "a key twice, one of them escaped": r'{"a": 1, "\u0061": 1}',
    "a key twice, far down": '[[[{"b": {"a": 1, "a": 2}}]]]',
    "a lone surrogate": r'"\ud800"',
    "surrogates the wrong way round": r'"\udc00\ud800"',
    "a lone surrogate as a key": r'{"\ud800": 1}',
    "NaN": "NaN",
    "Infinity": "-Infinity",
    "a number beyond doubles": "1e999",
    "an integer beyond doubles": "9" * 5_000,
    "a bare control character": '"\x01"',
    "a comma too many": "[1,]",
    "no value": "",
    "a comment": "1 /* one */",
    "another language": "'a'",
    "a leading zero": "01",
}

# Bytes that are no text in UTF-8.
WRONG_BYTES = {
    "a byte that begins nothing": b'"\xff"',
    "a character that is cut off": b'"\xe2\x82"',
    "an overlong form": b'"\xc0\xaf"',
    "a surrogate in UTF-8": b'"\xed\xa0\x80"',
    "beyond the last plane": b'"\xf5\x80\x80\x80"',
    "UTF-16": json.dumps("a").encode("utf-16"),
}

# What is JSON, and yet no spec of the Form.
WRONG_SPECS = {
    "ModuleWorker": ["1"],
    "WorkerBundle": ["null", "[]", '{"url": 1}', '{"url": "http://a.example/", "sha256": "0"}'],
    "WorkerVersion": ['"' + "x" * 8_193 + '"'],
    "WorkerDeployment": ["null", "{}", "[]", "[1]", '[{"weight": 1}]'],
    "DurableWorkflow": ["null", '""', "7", '"a b"', '"' + "x" * 300 + '"'],
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with Desk(tmp_path_factory.mktemp("bundles")) as made:
        yield made


@pytest.fixture(scope="module")
def worker(desk: Desk) -> str:
    return desk.client.made("ModuleWorker", {})


def headers(kind: str | None = JSON, **more: str) -> list[tuple[str, str]]:
    given = {"Authorization": f"Bearer {OWNER}", KEY: fresh_key()} | more
    return [*given.items(), *([("Content-Type", kind)] if kind is not None else [])]


def created(desk: Desk, form: str, spec: bytes) -> Told:
    frame = f'{{"form": "{forms.URLS[form]}", "space": "default", "name": "w", "spec": '  # type: ignore[index]
    return send(desk.app, "POST", f"{ROOT}/resources", headers(), frame.encode() + spec + b"}")


def updated(desk: Desk, uid: str, spec: bytes) -> Told:
    path = f"{ROOT}/resources/{uid}"
    return send(desk.app, "PUT", path, headers(**{GENERATION: "1"}), b'{"spec": ' + spec + b"}")


def refused(desk: Desk, before: Any, told: Told, status: int, code: str) -> None:
    assert (told.status, told.code) == (status, code), told.body
    assert told.headers["content-type"] == "application/problem+json"
    assert desk.steward.state is before


@pytest.mark.parametrize("wrong", WRONG_JSON)
@pytest.mark.parametrize("form", SPECS)
def test_json_that_the_api_does_not_take(desk: Desk, worker: str, form: str, wrong: str) -> None:
    before = desk.steward.state
    spec = (SPECS[form] % WRONG_JSON[wrong]).replace("WORKER", worker).encode()
    refused(desk, before, created(desk, form, spec), 400, "invalid_request")
    refused(desk, before, updated(desk, worker, spec), 400, "invalid_request")


@pytest.mark.parametrize("wrong", WRONG_JSON)
def test_json_that_is_no_body_at_all(desk: Desk, worker: str, wrong: str) -> None:
    before, text = desk.steward.state, WRONG_JSON[wrong].encode()
    refused(
        desk, before, send(desk.app, "POST", f"{ROOT}/resources", headers(), text), 400, "invalid_request"
    )
    sent = headers(**{GENERATION: "1"})
    told = send(desk.app, "PUT", f"{ROOT}/resources/{worker}", sent, text)
    refused(desk, before, told, 400, "invalid_request")


@pytest.mark.parametrize("wrong", WRONG_BYTES)
def test_bytes_that_are_no_text(desk: Desk, worker: str, wrong: str) -> None:
    before = desk.steward.state
    refused(desk, before, created(desk, "ModuleWorker", WRONG_BYTES[wrong]), 400, "invalid_request")
    refused(desk, before, updated(desk, worker, WRONG_BYTES[wrong]), 400, "invalid_request")
    told = send(desk.app, "POST", f"{ROOT}/resources", headers(), WRONG_BYTES[wrong])
    refused(desk, before, told, 400, "invalid_request")


@pytest.mark.parametrize(
    ("form", "wrong"), [(form, each) for form, every in WRONG_SPECS.items() for each in every]
)
def test_what_a_form_does_not_take(desk: Desk, worker: str, form: str, wrong: str) -> None:
    before = desk.steward.state
    spec = (SPECS[form] % wrong).replace("WORKER", worker).encode()
    refused(desk, before, created(desk, form, spec), 422, "invalid_spec")


@pytest.mark.parametrize(
    "kind",
    [
        None,
        "",
        "json",
        "text/plain",
        "text/json",
        "application/json5",
        "application/problem+json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "application/json; charset=utf-8; q=1",
        "application/json, application/json",
        "application/json;",
    ],
)
def test_media_types_that_are_not_taken(desk: Desk, worker: str, kind: str | None) -> None:
    before, body = desk.steward.state, b'{"spec": {}}'
    told = send(desk.app, "POST", f"{ROOT}/resources", headers(kind), body)
    refused(desk, before, told, 415, "unsupported_media_type")
    told = send(desk.app, "PUT", f"{ROOT}/resources/{worker}", headers(kind, **{GENERATION: "1"}), body)
    refused(desk, before, told, 415, "unsupported_media_type")


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "APPLICATION/JSON",
        'application/json;charset="UTF-8"',
        "application/json ; charset=utf-8",
    ],
)
def test_media_types_that_are(desk: Desk, kind: str) -> None:
    told = send(desk.app, "POST", f"{ROOT}/resources", headers(kind), b"[]")
    assert (told.status, told.code) == (400, "invalid_request")  # the body was read


@pytest.mark.parametrize("coding", ["gzip", "br", "identity, gzip"])
def test_codings_that_are_not_taken(desk: Desk, coding: str) -> None:
    told = send(desk.app, "POST", f"{ROOT}/resources", headers(**{"Content-Encoding": coding}), b"{}")
    refused(desk, desk.steward.state, told, 415, "unsupported_media_type")


def filled(size: int) -> bytes:
    """A sound create of so many bytes."""
    frame = {"form": forms.URLS["ModuleWorker"], "space": "elsewhere", "name": "w", "spec": {}}
    return json.dumps(frame).encode().ljust(size)


@pytest.mark.parametrize("declared", [{}, {"Content-Length": str(LIMIT + 1)}, {"Content-Length": "7"}])
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_body_has_a_limit_whatever_its_length_is_said_to_be(
    desk: Desk, worker: str, method: str, declared: dict[str, str]
) -> None:
    before = desk.steward.state
    path = f"{ROOT}/resources" + (f"/{worker}" if method == "PUT" else "")
    told = send(desk.app, method, path, headers(**{GENERATION: "1"} | declared), filled(LIMIT + 1))
    refused(desk, before, told, 413, "request_too_large")


def test_a_body_at_the_limit_is_read(desk: Desk) -> None:
    told = send(desk.app, "POST", f"{ROOT}/resources", headers(), filled(LIMIT))
    assert (told.status, told.code) == (403, "forbidden")  # the Space is another's


def test_no_more_is_read_of_a_body_than_its_limit(desk: Desk) -> None:
    """Whoever sends without an end is told so after so many bytes."""
    asked = 0

    async def endless() -> Any:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": b" " * 65_536, "more_body": True}

    sent: list[Any] = []

    async def answer(message: Any) -> None:
        sent.append(message)

    raw = [(name.lower().encode(), value.encode()) for name, value in headers()]
    scope = {
        "type": "http",
        "method": "POST",
        "scheme": "http",
        "path": f"{ROOT}/resources",
        "raw_path": f"{ROOT}/resources".encode(),
        "query_string": b"",
        "headers": [*raw, (b"host", b"127.0.0.1:8734")],
    }
    asyncio.run(desk.app(scope, endless, answer))  # type: ignore[arg-type]
    assert sent[0]["status"] == 413
    assert asked == LIMIT // 65_536 + 1


# -- the address of deployed Workers -------------------------------------------------------------------


class Nobody:
    """No Worker is deployed."""

    async def answer(self, *_: Any) -> Any:
        raise NoWorker("there is none")


@pytest.mark.parametrize(
    ("size", "status", "code"), [(BODY_BYTES, 503, None), (BODY_BYTES + 1, 413, "request_too_large")]
)
def test_what_is_sent_to_a_worker_has_a_limit_too(size: int, status: int, code: str | None) -> None:
    front = Front(Nobody(), ORIGIN)  # type: ignore[arg-type]
    told = asyncio.run(exchange(front, "POST", f"{PATH}/w", [("Host", "127.0.0.1")], b" " * size))
    assert (told.status, told.json.get("code")) == (status, code)


def test_a_reference_is_no_place_for_depth(desk: Desk, worker: str) -> None:
    """Depth that is allowed comes to the Form, which says what it thinks of it."""
    deep: Any = reference(worker)
    for _ in range(40):
        deep = {"resourceUid": deep}
    told = desk.client.create("DurableWorkflow", {"worker": deep, "className": "Report"})
    assert (told.status, told.code) == (422, "invalid_spec")
