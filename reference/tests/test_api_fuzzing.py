"""Requests that schemathesis makes up from the OpenAPI document, sound ones and broken ones.

Whatever comes, there is no 500, no status or header or body that the document does not have, and nothing
that breaks the document is taken. `nox -s api` tries many more of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("schemathesis")

import schemathesis
from api_client import OWNER, Desk, fresh_key, reference
from fencepost.api.table import CALLS, KEY, OPENAPI, ROOT
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

EXAMPLES = int(os.environ.get("FENCEPOST_API_EXAMPLES", "8"))
HEADERS = {"Host": "127.0.0.1:8734", "Authorization": f"Bearer {OWNER}"}
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
    checks.negative_data_rejection,
]
NOTHING_TO_BREAK = {"discover"}

# filterwarnings: what schemathesis and its own dependencies warn of is no matter of ours
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Target:
    """A Host with a few Resources, and the document that it gives of itself."""

    def __init__(self, desk: Desk) -> None:
        self.worker = desk.client.made("ModuleWorker", {})
        spec = {"worker": reference(self.worker), "className": "Report"}
        self.workflow = desk.client.made("DurableWorkflow", spec)
        self.operation = desk.client.call("GET", f"/resources/{self.worker}").json["lastOperation"]
        self.schema = schemathesis.openapi.from_asgi(OPENAPI, desk.app, headers=HEADERS)

    def aimed(self, case: Any) -> Any:
        """A sound case at something that is there, so that it gets beyond a 403 or 404."""
        if "uid" in (case.path_parameters or {}):
            case.path_parameters["uid"] = self.workflow
        if "id" in (case.path_parameters or {}):
            case.path_parameters["id"] = self.operation
        if isinstance(case.body, dict) and "space" in case.body:
            case.body["space"] = "default"
            if "worker" in case.body["spec"]:
                case.body["spec"]["worker"] = reference(self.worker)
        if KEY in (case.headers or {}):
            case.headers[KEY] = fresh_key()
        return case


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with Desk(tmp_path_factory.mktemp("bundles")) as desk:
        yield Target(desk)


@pytest.mark.parametrize(
    "mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value
)
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_made_up_requests(target: Target, call: Any, mode: Any) -> None:
    if mode is GenerationMode.NEGATIVE and call.name in NOTHING_TO_BREAK:
        return
    operation = target.schema[call.path.replace("{root}", ROOT)][call.method]

    @given(operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    def ask(case: Any) -> None:
        if mode is GenerationMode.POSITIVE:
            case = target.aimed(case)
        case.validate_response(case.call(headers=HEADERS), checks=CHECKS)

    ask()
