"""The schemas of what the kit and an adapter in another process say to each other."""

from __future__ import annotations

from typing import Any

import pytest
from fencepost_spec.schemas import problems, schema
from jsonschema import Draft202012Validator

HOST = {"name": "h", "version": "1"}
BEGIN = {
    "op": "begin",
    "ticket": 2,
    "token": "t",
    "versions": ["v1"],
    "deployed": {"v1": 10000},
    "uses": ["clock"],
}
PROBE = {"path": "/p.mjs", "url": "http://127.0.0.1:1/x/p.mjs", "digest": "sha256:00"}

REQUESTS: list[dict[str, Any]] = [
    {"op": "handshake", "ticket": 1, "hello": {"protocol": "fencepost.adapter@1", "kit": "fencepost"}},
    BEGIN,
    BEGIN | {"journal": "http://127.0.0.1:1/x", "probe": PROBE},
    {"op": "end", "ticket": 3},
    {"op": "create", "ticket": 4},
    {"op": "create", "ticket": 4, "id": {"$oddity": "date"}, "params": {"program": {"$literal": []}}},
    {"op": "send_event", "ticket": 5, "id": "i", "type": {"$string": [55296]}, "payload": None},
    {"op": "drop_response", "ticket": 6, "call": "terminate", "arguments": {"id": "i"}},
    {"op": "deploy", "ticket": 7, "weights": {}},
    {"op": "kill", "ticket": 7, "id": "i", "at": "effect-start:a"},
    {"op": "resource", "ticket": 8, "request": {"method": "GET", "uid": "u", "principal": "owner"}},
]

MISFITS: list[tuple[dict[str, Any], str]] = [
    ({"op": "create"}, "document: lacks 'ticket'"),
    ({"op": "creat", "ticket": 1}, "op: must be one of handshake, begin"),
    ({"op": "get", "ticket": 1}, "document: lacks 'id'"),
    (
        {"op": "get", "ticket": 1, "id": "i", "x": 1},
        "document: unknown key 'x'; the keys here are op, ticket, id",
    ),
    ({"op": "advance", "ticket": 1, "milliseconds": 1.5}, "milliseconds: must be an integer, not 1.5"),
    ({"op": "create", "ticket": 1, "params": {"$odd": 1}}, "params: unknown form '$odd'"),
    (BEGIN | {"uses": ["clocks"]}, "uses[0]: must be one of clock, journal"),
]

EXCHANGES: list[tuple[dict[str, Any], Any, str]] = [
    ({"op": "settle"}, None, ""),
    ({"op": "create"}, "id", ""),
    ({"op": "create"}, 5, "answer.ok: must be the id, a string, not 5"),
    ({"op": "status", "id": "i"}, {"status": "complete", "output": {}}, ""),
    ({"op": "status", "id": "i"}, {"status": "done"}, "answer.ok.status: must be one of queued, running"),
    ({"op": "status", "id": "i"}, {"status": "errored", "error": {}}, "answer.ok.error: lacks 'reason'"),
    ({"op": "end"}, {"unsprung": ["x"]}, ""),
    ({"op": "resource", "request": {"method": "GET", "principal": "owner"}}, {}, "answer.ok: lacks 'status'"),
    ({"op": "resources"}, {"worker": 1}, "answer.ok.worker: must be a string, not 1"),
]


@pytest.mark.parametrize("request_", REQUESTS)
def test_a_request_fits(request_: dict[str, Any]) -> None:
    assert problems("adapter-request", request_) == []
    Draft202012Validator(schema("adapter-request")).validate(request_)


@pytest.mark.parametrize(("request_", "first"), MISFITS)
def test_a_request_that_does_not_fit_is_told_with_its_place(request_: dict[str, Any], first: str) -> None:
    assert problems("adapter-request", request_)[0].startswith(first)
    assert not Draft202012Validator(schema("adapter-request")).is_valid(request_)


@pytest.mark.parametrize(
    "answer",
    [{"ok": None}, {"error": {"name": "n", "message": ""}}, {"fault": "x"}],
)
def test_an_answer_is_one_of_three(answer: dict[str, Any]) -> None:
    assert problems("adapter-answer", {"ticket": 1, **answer}) == []
    assert problems("adapter-answer", answer)[0].startswith("document: lacks 'ticket'")
    assert problems("adapter-answer", {"ticket": 1, "ok": 1, "fault": "x"})
    assert problems("adapter-answer", {"ticket": 1})


@pytest.mark.parametrize(("request_", "value", "first"), EXCHANGES)
def test_what_is_ok_depends_on_the_op(request_: dict[str, Any], value: Any, first: str) -> None:
    exchange = {"request": {"ticket": 1, **request_}, "answer": {"ticket": 1, "ok": value}}
    found = problems("adapter-exchange", exchange)
    assert found == [] if not first else found[0].startswith(first)
    assert Draft202012Validator(schema("adapter-exchange")).is_valid(exchange) is (not first)


def test_a_rejection_fits_every_op() -> None:
    answer = {"ticket": 1, "error": {"name": "unknown_instance", "message": ""}}
    request = {"op": "status", "ticket": 1, "id": "i"}
    assert problems("adapter-exchange", {"request": request, "answer": answer}) == []
