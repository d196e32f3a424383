"""The OpenAPI document: generated from the table, true to the machine, and fit for every answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from api_client import Desk, send
from fencepost.api import openapi, shapes
from fencepost.api.table import CALLS, OPENAPI, ROOT, methods
from fencepost.management import envelope
from fencepost.management.actions import Request
from fencepost.management.problems import STATUS_OF, Refusal
from fencepost.management.state import Rules
from jsonschema import Draft202012Validator

METHODS = ("GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE")
DOCUMENT = openapi.document(Rules(), "http://127.0.0.1:1", ROOT, ("Bearer",))


def fits(name: str, value: Any) -> list[str]:
    """What is wrong with a document of this name."""
    schema = shapes.reference(name) | {"components": DOCUMENT["components"]}
    return [error.message for error in Draft202012Validator(schema).iter_errors(value)]


@pytest.mark.parametrize("path", sorted({call.path for call in CALLS if call.authenticated}))
def test_the_machine_has_the_methods_of_the_table(path: str) -> None:
    target = path.removeprefix("{root}").replace("{uid}", "a").replace("{id}", "a")
    for method in METHODS:
        request = Request(0, method, target, "u", "o", principal="owner")
        try:
            envelope.route(request)
            allowed: tuple[str, ...] = (method,)
        except Refusal as refusal:
            allowed = refusal.allow
        assert (method in allowed) == (method in methods(path))


def test_every_code_is_the_machines_and_every_code_of_it_is_used() -> None:
    told = {code for call in CALLS for code in call.refusals}
    left_over = {"capability_unavailable", "method_not_allowed", "rate_limited"}  # of no call of the table
    assert told | left_over == STATUS_OF.keys()


def test_every_reference_leads_somewhere() -> None:
    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(target := value.get("$ref"), str):
                assert target.removeprefix("#/components/schemas/") in DOCUMENT["components"]["schemas"]
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    walk(DOCUMENT)
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_what_the_host_answers_is_what_its_document_says(tmp_path: Path) -> None:
    with Desk(tmp_path) as desk:
        assert send(desk.app, "GET", OPENAPI).json["info"] == DOCUMENT["info"]
        worker = desk.client.made("ModuleWorker", {})
        spec = {"worker": {"resourceUid": worker}, "className": "Report"}
        uid = desk.client.made("DurableWorkflow", spec)
        failed = desk.client.settled(
            desk.client.create(
                "WorkerBundle", {"artifact": {"url": "https://not.allowed.example/a", "sha256": "a" * 64}}
            )
        )
        assert failed["status"] == "failed"
        for name, target in [
            ("Resource", f"/resources/{uid}"),
            ("Page", "/resources"),
            ("Operation", f"/operations/{failed['id']}"),
            ("Support", "/support?form=https://a.example/"),
        ]:
            assert fits(name, desk.client.call("GET", target).json) == []
            assert fits(name, {}) != []
        assert fits("Discovery", send(desk.app, "GET", "/.well-known/takoform/v2").json) == []
        create = {
            "space": "default",
            "name": "n",
            "form": desk.client.call("GET", f"/resources/{uid}").json["form"],
        }
        assert fits("Create", create | {"spec": spec}) == []
        assert fits("Create", create | {"spec": spec | {"className": "no class"}}) != []
