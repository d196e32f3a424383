"""The scenario format: what it admits, and what it says about each kind of slip."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from fencepost_spec.schemas import problems, schema
from jsonschema import Draft202012Validator

TIE: dict[str, Any] = {
    "format": "fencepost.scenario@1",
    "title": "What arrives in the last instant of a wait is in time",
    "note": "A Host that looks at the timeout first records wait_timeout here.",
    "clauses": ["WFE-5"],
    "programs": {
        "waits": [
            {"wait": "door", "type": "knock", "timeoutSeconds": 9, "as": "knock"},
            {"return": {"who": {"$": "knock.name"}}},
        ]
    },
    "schedule": [
        {"create": "one", "program": "waits"},
        {"settle": True},
        {"status": "one", "expect": {"status": "waiting"}},
        {"advance": 9},
        {"sendEvent": "one", "type": "knock", "payload": {"name": "ada"}},
        {"settle": True},
        {"status": "one", "expect": {"status": "complete", "output": {"who": "ada"}}},
    ],
}

OPERATIONS: list[dict[str, Any]] = [
    {"do": "a", "effect": {"value": {"n": 1}}, "retry": {"maxAttempts": 3}, "as": "r", "catch": "e"},
    {"do": {"$repeat": ["n", 257]}, "effect": {"undefined": True}},
    {"do": "a", "effect": {"throw": "no"}},
    {"do": "a", "effect": {"gate": "g", "then": {"attempts": [{"throw": "no"}, {"value": {}}]}}},
    {"do": "a", "effect": {"nested": {"sleep": "b", "seconds": 0}}},
    {"do": "a", "effect": {"ticking": "t", "everyMs": 10}},
    {"do": "a", "effect": {"spin": True}},
    {"do": "a", "effect": {"oddity": "cycle"}},
    {"sleep": "s", "seconds": 1.5, "catch": "e"},
    {"wait": "w", "type": {"$string": [0xD800]}, "timeoutSeconds": "5"},
    {"return": {"$size": 100}},
    {"return": {"$literal": {"$": 5, "$x": 1}}},
    {"return": {"a": [{"$error": "e"}, {"$describe": "e"}, {"$isUndefined": "e.cause"}, {"$params": True}]}},
    {"return": {"$array": [{"$oddity": "nan"}, 3]}},
    {"throw": "no"},
    {"rethrow": "e"},
    {"throwCopyOf": "e"},
    {"throwCauseOf": "e"},
    {"try": [{"mark": "in"}], "catch": "e", "handler": [], "finally": [{"mark": "out"}]},
    {"together": [{"sleep": "a", "seconds": 1}, {"sleep": "b", "seconds": 1}]},
    {"race": [{"sleep": "a", "seconds": 1}, {"wait": "w"}]},
    {"unawaited": {"do": "a"}},
    {"repeat": 3, "index": "k", "ops": [{"do": "s${k}", "effect": {"value": {}}}]},
    {"if": {"$": "r"}, "then": [], "else": [{"throw": "no"}]},
    {"set": "o.n", "to": 9},
    {"moduleCounter": "m"},
    {"instanceCounter": "m"},
    {"spin": True},
    {"ticker": "t", "everyMs": 5},
    {"call": "terminate"},
]

ENTRIES: list[dict[str, Any]] = [
    {
        "create": None,
        "program": "waits",
        "params": {"$oddity": "arrayRoot"},
        "as": "v",
        "expect": {"error": True},
    },
    {
        "create": {"$repeat": ["i", 257]},
        "expect": {"error": "TypeError", "choice": "type-error", "of": "BND-9"},
    },
    {"get": {"$": "v"}, "expect": {"error": "unknown_instance"}, "clause": "BND-4", "note": "gone"},
    {"status": "one", "expect": [{"status": ["queued", "running"]}, {"ok": True}, {"any": True}]},
    {"status": "one", "expect": {"status": "errored", "error": {"reason": ["run_threw", "step_failed"]}}},
    {
        "sendEvent": "one",
        "type": "x",
        "times": 1024,
        "expect": {"error": ["event_queue_full", "instance_terminal"]},
    },
    {"terminate": "one"},
    {"dropResponse": {"create": "one", "program": "waits"}},
    {"dropResponse": {"resource": "DELETE", "on": "workflow", "key": "k"}},
    {"advance": 0.001},
    {"release": "g"},
    {"kill": "one", "at": "effect-end:a b"},
    {"pause": "one", "at": "now"},
    {"resume": "one"},
    {"recover": True},
    {"stuck": "one"},
    {"unstuck": "one"},
    {"backend": "down"},
    {"restart": True},
    {"holdWakes": False},
    {"deploy": {}},
    {"unbind": True},
    {"bind": True},
    {"deleteResource": True, "expect": {"status": 409, "code": "dependency_conflict"}},
    {"recreateResource": True},
    {
        "resource": "PUT",
        "on": "workflow",
        "body": {"className": "Other"},
        "expect": [
            {"status": 422, "code": "invalid_spec", "choice": "invalid-spec", "of": "RES-8a"},
            {"status": "4xx", "choice": "other-client-error", "of": "RES-8a"},
        ],
    },
    {"verify": "pending"},
    {"observe": True},
    {"ready": True, "on": "x"},
    {"effects": {"a": 3, "b": {"atLeast": 1, "atMost": 2}}},
    {"marks": {"in": 0}},
    {"runs": {"one": {"atLeast": 2}}},
    {"counts": {"complete": 1}},
    {"history": "one", "as": "h"},
    {
        "history": {"$": "v"},
        "clause": "GRT-9",
        "expect": [
            {"records": [{"record": "sleep", "owner": None}], "attempts": {"a": 1}, "delivered": {"a/1": 2}},
            {"committedTwice": [], "perhapsRepeated": [], "inbox": [], "steps": [], "deliveries": []},
        ],
    },
]


def scenario(*entries: Any, **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(TIE), **({"schedule": list(entries)} if entries else {}), **changes}


def operations(*listed: Any) -> dict[str, Any]:
    return scenario(programs={"waits": list(listed)})


def test_a_whole_scenario_fits() -> None:
    assert problems("scenario", TIE) == []
    Draft202012Validator(schema("scenario")).validate(TIE)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_fits_alone_and_in_the_plain_schema(operation: dict[str, Any]) -> None:
    document = operations(operation)
    assert problems("scenario", document) == []
    Draft202012Validator(schema("scenario")).validate(document)


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_fits_alone_and_in_the_plain_schema(entry: dict[str, Any]) -> None:
    document = scenario(entry)
    assert problems("scenario", document) == []
    Draft202012Validator(schema("scenario")).validate(document)


@pytest.mark.parametrize("cases", [OPERATIONS, ENTRIES])
def test_no_operation_or_entry_takes_an_unknown_key(cases: list[dict[str, Any]]) -> None:
    for case in cases:
        stray = {**case, "stray": 1}
        document = operations(stray) if cases is OPERATIONS else scenario(stray)
        assert "unknown key 'stray'" in problems("scenario", document)[0]
        assert not Draft202012Validator(schema("scenario")).is_valid(document)


def test_versions_and_calls_in_flight_fit() -> None:
    document = scenario(
        {"create": "one", "program": "main"},
        {"start": {"terminate": "one"}, "as": "t"},
        {"pending": "t"},
        {"deploy": {"v1": 4000, "v2": 6000}},
        {"await": "t", "expect": {"any": True}},
        versions={"v1": {"main": "waits"}, "v2": {"main": "waits"}},
        deployed="v1",
        heavy=True,
        **{"for": "reference"},
    )
    assert problems("scenario", document) == []


@pytest.mark.parametrize(
    ("document", "first"),
    [
        (scenario({"advnce": 1}), "schedule[0]: unknown entry 'advnce' (did you mean advance?); an entry is"),
        (scenario({}), "schedule[0]: empty entry; an entry is one of create, get,"),
        (scenario(7), "schedule[0]: must be an object, not 7; an entry is one of"),
        (scenario({"create": "i", "get": "i"}), "schedule[0]: mixes the entry kinds create, get; split it"),
        (
            scenario({"get": "i", "program": "waits"}),
            "schedule[0]: unknown key 'program'; the keys here",
        ),
        (scenario({"settle": False}), "schedule[0].settle: must be true, not false"),
        (scenario({"advance": -1}), "schedule[0].advance: must be at least 0, not -1"),
        (scenario({"kill": "i"}), "schedule[0]: lacks 'at'"),
        (
            scenario({"kill": "i", "at": "parked"}),
            "schedule[0].at: must be a point: now, settled, or",
        ),
        (scenario({"start": {"settle": True}, "as": "t"}), "schedule[0].start: unknown call 'settle'"),
        (scenario({"await": "t"}), "schedule[0].await: no call 't' was started"),
        (
            scenario({"history": "i", "expect": {"since": "h"}}),
            "schedule[0].expect: since: no history was kept as 'h'",
        ),
        (
            scenario({"status": "i", "expect": {"status": "done"}}),
            "schedule[0].expect.status: must be one of",
        ),
        (scenario({"status": "i", "expect": 5}), "schedule[0].expect: must be an expectation, or a list"),
        (
            scenario({"status": "i", "expect": [{"eror": True}]}),
            "schedule[0].expect[0]: unknown key 'eror' (did",
        ),
        (
            scenario({"status": "i", "expect": {"output": {}}}),
            "schedule[0].expect: has 'output' and so needs",
        ),
        (scenario({"effects": {"a": -1}}), "schedule[0].effects.a: must be at least 0, not -1"),
        (
            scenario({"effects": {"a": {"atleast": 1}}}),
            "schedule[0].effects.a: unknown key 'atleast' (did",
        ),
        (scenario({"counts": {"paused": 1}}), 'schedule[0].counts: the key "paused" must be one of queued,'),
        (
            scenario({"create": "i", "program": "wait"}),
            "schedule[0].program: there is no program 'wait'; the",
        ),
        (
            scenario({"dropResponse": {"create": "i", "program": "w"}}),
            "schedule[0].dropResponse.program: there is no program 'w'",
        ),
        (scenario({"deploy": {"v1": 10000}}), "schedule[0].deploy.v1: there is no such Version"),
        (scenario(deployed="v1"), "deployed: there is no Version 'v1'; there are no versions"),
        (scenario(versions={"v1": {"waits": "gone"}}), "versions.v1.waits: there is no program 'gone'"),
        (scenario(clauses=["WFE-55"]), "clauses[0]: there is no clause 'WFE-55' (did you mean WFE-5?)"),
        (scenario(clauses=["wfe-5"]), 'clauses[0]: must be a clause id, not "wfe-5"'),
        (scenario(clauses=[]), "clauses: must have at least 1 entry, and has 0"),
        (scenario({"settle": True, "clause": "ABC-1"}), "schedule[0].clause: there is no clause 'ABC-1'"),
        (
            scenario({"get": "i", "expect": {"ok": True, "choice": "x"}}),
            "schedule[0].expect.choice: WFE-5 is not open",
        ),
        (
            scenario({"get": "i", "expect": {"ok": True, "choice": "x", "of": "SLP-6"}}),
            "schedule[0].expect.choice: SLP-6 has no such choice; its choices are woken, parked",
        ),
        (
            scenario(format="fencepost.scenario@2"),
            'format: must be "fencepost.scenario@1", not "fencepost.scenario@2"',
        ),
        (scenario(tilte="x"), "document: unknown key 'tilte'"),
        (
            operations({"wiat": "w"}),
            "programs.waits[0]: unknown operation 'wiat' (did you mean wait?)",
        ),
        (
            operations({"do": "a", "effect": {"valu": 1}}),
            "programs.waits[0].effect: unknown effect 'valu' (did",
        ),
        (
            operations({"return": {"a": [{"$vra": "x"}]}}),
            "programs.waits[0].return.a[0]: unknown form '$vra'",
        ),
        (operations({"return": {"$": "x", "more": 1}}), "programs.waits[0].return: unknown key 'more'"),
        (
            operations({"return": {"$oddity": "NaN"}}),
            "programs.waits[0].return.$oddity: must be one of",
        ),
        (
            operations({"try": [{"marc": "x"}]}),
            "programs.waits[0].try[0]: unknown operation 'marc' (did",
        ),
    ],
)
def test_a_slip_is_named_with_its_place_and_a_way_out(document: dict[str, Any], first: str) -> None:
    assert problems("scenario", document)[0].startswith(first), problems("scenario", document)


def test_weights_sum_to_the_whole() -> None:
    versions = {"v1": {"waits": "waits"}, "v2": {"waits": "waits"}}
    found = problems("scenario", scenario({"deploy": {"v1": 5000, "v2": 4999}}, versions=versions))
    assert found == ["schedule[0].deploy: the weights must sum to 10000, not 9999"]


def report(**changes: Any) -> dict[str, Any]:
    return {
        "format": "fencepost.report@1",
        "host": {"name": "mine", "version": "1"},
        "kit": {"version": "0.1.0", "probe": "sha256:1"},
        "spec": {"version": "0.3.0", "digest": "0" * 64},
        "seed": 7,
        "startedAt": "2026-01-02T03:04:05Z",
        "verdict": "incomplete",
        "counts": {"passed": 1, "failed": 0, "unmeasured": 1, "errored": 0},
        "clauses": [
            {
                "id": "WFE-5",
                "strength": "required",
                "verdict": "passed",
                "checks": [{"scenario": "WFE/tie", "verdict": "passed"}],
            },
            {
                "id": "BND-8",
                "strength": "required",
                "verdict": "unmeasured",
                "checks": [],
                "closedBy": ["backend"],
            },
            {"id": "SLP-6", "strength": "open", "verdict": None, "checks": []},
        ],
        "latitudes": {"SLP-6": ["woken"]},
        **changes,
        "complete": True,
    }


def test_a_report_fits_and_its_last_key_says_that_it_is_complete() -> None:
    assert problems("report", report()) == []
    Draft202012Validator(schema("report")).validate(report())
    assert problems("report", {**report(), "more": 1}) == ["complete: must be the last key of the report"]


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ({"verdict": "passed"}, "verdict: must be one of qualified, not-qualified, incomplete"),
        ({"startedAt": "2026-01-02 03:04"}, "startedAt: must be a match of"),
        ({"counts": {"passed": -1}}, "counts.passed: must be at least 0"),
        ({"latitudes": {"SLP-6": "woken"}}, "latitudes.SLP-6: must be a list"),
        ({"spec": {"version": "0.3.0"}}, "spec: lacks 'digest'"),
    ],
)
def test_a_report_that_does_not_fit_is_refused(changes: dict[str, Any], first: str) -> None:
    assert problems("report", report(**changes))[0].startswith(first)
