"""The schemas on both sides of each boundary, alone and through ``problems``."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fencepost_spec.limits import FORM
from fencepost_spec.schemas import NAMES, problems, schema
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

COUNTS = dict.fromkeys(("queued", "running", "sleeping", "waiting", "complete", "errored", "terminated"), 0)
WORKER = {"resourceUid": "u-1"}
ASTRAL = "\U0001f600"

ACCEPTED: list[tuple[str, Any]] = [
    ("resource-spec", {"worker": WORKER, "className": "A"}),
    ("resource-spec", {"worker": WORKER, "className": "$_" + "9" * (FORM.class_name_characters - 2)}),
    ("observed", {}),
    ("observed", {"ready": False, "instanceCounts": COUNTS}),
    ("create-input", {}),
    ("create-input", {"id": "x"}),
    ("create-input", {"id": ASTRAL * FORM.id_scalars, "params": {}}),
    ("create-input", {"params": {str(n): None for n in range(FORM.document_root_properties)}}),
    ("create-input", {"params": {"__proto__": {"a": [1, True, None, "ü", {}]}}}),
    ("event-input", {"type": "t"}),
    ("event-input", {"type": ASTRAL * FORM.type_scalars, "payload": {"toJSON": 1}}),
    ("status-answer", {"status": "queued"}),
    ("status-answer", {"status": "complete"}),
    ("status-answer", {"status": "complete", "output": {"a": 1}, "runs": 3}),
    ("status-answer", {"status": "errored", "error": {"reason": "run_threw", "message": "", "stack": "x"}}),
    ("retry-policy", {"maxAttempts": 1}),
    ("retry-policy", {"maxAttempts": FORM.attempts_maximum, "backoff": "exponential"}),
    (
        "retry-policy",
        {
            "maxAttempts": 2,
            "initialDelaySeconds": FORM.delay_seconds_maximum,
            "maxDelaySeconds": FORM.delay_seconds_maximum,
        },
    ),
    ("retry-policy", {"maxAttempts": 2, "initialDelaySeconds": 0, "maxDelaySeconds": 0}),
    ("wait-options", {"type": "t", "timeoutSeconds": FORM.wait_seconds_minimum}),
    ("wait-options", {"type": "t", "timeoutSeconds": FORM.wait_seconds_maximum}),
    ("program", []),
    ("program", [{"do": "a", "effect": 5}, {"do": "b"}, {"do": "c", "effect": {}}]),
]

REFUSED: list[tuple[str, Any, str]] = [
    ("resource-spec", {"worker": WORKER}, "document: lacks 'className'"),
    ("resource-spec", None, "document: must be an object, not null"),
    ("resource-spec", {"worker": WORKER, "className": None}, "className: must be a string, not null"),
    ("resource-spec", {"worker": None, "className": "A"}, "worker: must be an object, not null"),
    ("resource-spec", {"worker": {}, "className": "A"}, "worker: lacks 'resourceUid'"),
    (
        "resource-spec",
        {"worker": WORKER | {"name": "n"}, "className": "A"},
        "worker: unknown key 'name'; the keys here are resourceUid",
    ),
    (
        "resource-spec",
        {"worker": WORKER, "classname": "A"},
        "document: lacks 'className'",
    ),
    (
        "resource-spec",
        {"worker": WORKER, "className": "A\n"},
        'className: must be a match of ^[A-Za-z_$][A-Za-z0-9_$]*$, not "A\\n"',
    ),
    (
        "resource-spec",
        {"worker": WORKER, "className": "9"},
        'className: must be a match of ^[A-Za-z_$][A-Za-z0-9_$]*$, not "9"',
    ),
    (
        "resource-spec",
        {"worker": WORKER, "className": "A" * 65},
        "className: must have at most 64 characters, and has 65",
    ),
    ("observed", {"ready": True}, "document: has 'ready' and so needs 'instanceCounts'"),
    (
        "observed",
        {"ready": True, "instanceCounts": COUNTS | {"paused": 0}},
        "instanceCounts: unknown key 'paused'",
    ),
    (
        "observed",
        {"ready": True, "instanceCounts": {k: v for k, v in COUNTS.items() if k != "errored"}},
        "instanceCounts: lacks 'errored'",
    ),
    ("create-input", {"id": ""}, "id: must have at least 1 character, and has 0"),
    ("create-input", {"id": "x" * 257}, "id: must have at most 256 characters, and has 257"),
    ("create-input", {"id": "\ud800"}, "id: has a lone surrogate"),
    ("create-input", {"id": 5}, "id: must be an instance id, not 5"),
    ("create-input", {"name": "x"}, "document: unknown key 'name'; the keys here are id, params"),
    ("create-input", {"params": None}, "params: must be a document, not null"),
    ("create-input", {"params": []}, "params: must be a document, not []"),
    ("create-input", {"params": {"a": {"b": ["\udc00"]}}}, "params.a.b[0]: has a lone surrogate"),
    ("create-input", {"params": {"\ud800": 1}}, 'params: the key "\\ud800" has a lone surrogate'),
    (
        "create-input",
        {"params": {str(n): None for n in range(1025)}},
        "params: must have at most 1024 keys, and has 1025",
    ),
    ("event-input", {}, "document: lacks 'type'"),
    ("event-input", {"type": ""}, "type: must have at least 1 character"),
    ("event-input", {"type": "t" * 257}, "type: must have at most 256 characters"),
    ("status-answer", {"status": "paused"}, "status: must be one of queued, running,"),
    ("status-answer", {"status": "running", "output": {}}, "output: must not be here"),
    ("status-answer", {"status": "complete", "error": {"reason": "run_threw"}}, "error: must not be here"),
    ("status-answer", {"status": "errored"}, "document: lacks 'error'"),
    (
        "status-answer",
        {"status": "errored", "error": {"reason": "oops"}},
        "error.reason: must be one of run_threw",
    ),
    ("retry-policy", {}, "document: lacks 'maxAttempts'"),
    ("retry-policy", {"maxAttempts": 0}, "maxAttempts: must be at least 1, not 0"),
    ("retry-policy", {"maxAttempts": 101}, "maxAttempts: must be at most 100, not 101"),
    ("retry-policy", {"maxAttempts": 1.5}, "maxAttempts: must be an integer, not 1.5"),
    ("retry-policy", {"maxAttempts": True}, "maxAttempts: must be an integer, not true"),
    (
        "retry-policy",
        {"maxAttempts": 1, "initialDelaySeconds": -1},
        "initialDelaySeconds: must be at least 0",
    ),
    (
        "retry-policy",
        {"maxAttempts": 1, "initialDelaySeconds": 43201},
        "initialDelaySeconds: must be at most 43200",
    ),
    ("retry-policy", {"maxAttempts": 1, "maxDelaySeconds": 43201}, "maxDelaySeconds: must be at most 43200"),
    (
        "retry-policy",
        {"maxAttempts": 1, "backoff": "linear"},
        "backoff: must be one of constant, exponential",
    ),
    ("retry-policy", {"maxAttempts": 1, "maxattempts": 2}, "document: unknown key 'maxattempts'"),
    ("wait-options", {"type": "t"}, "document: lacks 'timeoutSeconds'"),
    ("wait-options", {"timeoutSeconds": 1}, "document: lacks 'type'"),
    ("wait-options", {"type": "t", "timeoutSeconds": 0}, "timeoutSeconds: must be at least 1, not 0"),
    ("wait-options", {"type": "t", "timeoutSeconds": 31536001}, "timeoutSeconds: must be at most 31536000"),
    ("program", {}, "document: must be a list of operations, not {}"),
]


@pytest.mark.parametrize(("name", "document"), ACCEPTED)
def test_what_fits_is_accepted(name: str, document: Any) -> None:
    assert problems(name, document) == []
    Draft202012Validator(schema(name)).validate(document)


@pytest.mark.parametrize(("name", "document", "first"), REFUSED)
def test_what_does_not_fit_is_refused_with_its_place(name: str, document: Any, first: str) -> None:
    assert problems(name, document)[0].startswith(first)


@pytest.mark.parametrize("name", NAMES)
def test_each_schema_is_a_plain_and_complete_one_of_its_dialect(name: str) -> None:
    plain = schema(name)
    Draft202012Validator.check_schema(plain)
    text = json.dumps(plain)
    assert plain["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "$limit" not in text
    assert "$byKey" not in text
    for reference in set(_references(plain)):
        assert reference.removeprefix("#/$defs/") in plain["$defs"]


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [found for child in node.values() for found in _references(child)]
    return [found for child in node for found in _references(child)] if isinstance(node, list) else []


def test_the_limits_are_filled_in() -> None:
    assert schema("wait-options")["properties"]["timeoutSeconds"]["maximum"] == FORM.wait_seconds_maximum
    assert schema("create-input")["$defs"]["instanceId"]["maxLength"] == FORM.id_scalars


def test_a_schema_that_is_handed_out_can_be_changed_without_harm() -> None:
    schema("retry-policy")["properties"].clear()
    assert problems("retry-policy", {"maxAttempts": 1}) == []
    assert "maxAttempts" in schema("retry-policy")["properties"]


def test_an_unknown_schema_is_answered_with_the_known_ones() -> None:
    for use in (schema, lambda name: problems(name, {})):
        with pytest.raises(KeyError, match="the schemas are resource-spec, observed"):
            use("resource_spec")


def test_problems_come_in_the_order_of_the_document_and_once() -> None:
    found = problems("retry-policy", {"backoff": "x", "maxAttempts": 0, "maxDelaySeconds": -1})
    assert [line.partition(":")[0] for line in found] == ["backoff", "maxAttempts", "maxDelaySeconds"]


def test_nesting_beyond_all_measure_is_a_problem_not_a_crash() -> None:
    deep: Any = {}
    for _ in range(20_000):
        deep = {"a": deep}
    assert problems("create-input", {"params": deep}) == ["document: is nested too deeply"]


KEYS = st.sampled_from(
    [
        "do",
        "sleep",
        "wait",
        "effect",
        "value",
        "$",
        "$size",
        "$x",
        "try",
        "seconds",
        "as",
        "type",
        "return",
        "gate",
        "then",
    ]
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 300)
    | st.sampled_from(["", "x", "go", "main", "complete", "4xx"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40)
@given(JSON)
def test_the_plain_schema_and_the_readable_one_agree_on_programs(document: Any) -> None:
    plain = Draft202012Validator(schema("program"))
    for candidate in (document, [document], [{"do": "a", "effect": document}], [{"return": document}]):
        assert plain.is_valid(candidate) == (problems("program", candidate) == []), candidate
