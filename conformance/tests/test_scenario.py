"""Loading, choosing and writing scenarios."""

import json
from importlib.resources import files

import pytest
from fencepost_conformance import scenario
from fencepost_conformance.scenario import (
    Scenario,
    ScenarioError,
    dumps,
    from_document,
    load,
    load_all,
    select,
)

EXAMPLE = """{
  "format": "fencepost.scenario@1",
  "title": "A lone \\ud800 and a caf\\u00e9",
  "clauses": ["WFE-5"],
  "programs": {
    "main": [
      {"wait": "w", "type": "go", "timeoutSeconds": 5, "as": "p"},
      {"return": {"got": {"$": "p.k"}}}
    ],
    "empty": []
  },
  "schedule": [
    {"create": "i", "program": "main"},
    {"settle": true}
  ]
}
"""


def test_the_layout_is_one_operation_and_one_entry_a_line():
    assert dumps(json.loads(EXAMPLE)) == EXAMPLE


@pytest.mark.parametrize(("suite", "folder"), scenario.SUITES.items())
def test_every_shipped_scenario_has_the_layout_of_the_house(suite, folder):
    for each in scenario.shipped(suite):
        assert load(each.id).document == each.document
        text = (files(scenario.__package__) / folder / f"{each.id}.json").read_text(encoding="utf-8")
        escaped = "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in text)
        assert escaped == dumps(each), each.id


def test_a_path_and_a_directory_are_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(scenario, "problems", lambda document: [])
    (tmp_path / "deeper").mkdir()
    (tmp_path / "b.json").write_text(EXAMPLE, encoding="utf-8")
    (tmp_path / "deeper" / "a.json").write_text(EXAMPLE, encoding="utf-8")
    assert [each.id for each in load_all(tmp_path)] == ["b", "deeper/a"]
    assert load(tmp_path / "b.json").id == "b"


def test_a_generated_scenario_that_broke_down_names_no_clause_and_is_read_again():
    document = {**json.loads(EXAMPLE), "clauses": []}
    assert from_document({**document, "judged": True}, "broke-down").clauses == ()
    with pytest.raises(ScenarioError, match="clauses: must have at least 1 entry"):
        from_document(document, "names-none")


def test_a_misfit_is_refused_with_its_first_problem(monkeypatch):
    monkeypatch.setattr(scenario, "problems", lambda document: ["$.title: missing", "$.x: unknown"])
    with pytest.raises(ScenarioError, match=r"^s: \$\.title: missing$"):
        from_document({}, "s")


def test_what_a_reproducer_observed_is_no_part_of_the_scenario(monkeypatch):
    monkeypatch.setattr(scenario, "problems", lambda document: [])
    assert "observed" not in from_document({"title": "t", "observed": {}}, "s").document


@pytest.mark.parametrize(("text", "complaint"), [("{", "not JSON"), ("[]" * 2, "not JSON")])
def test_text_that_is_no_json_is_refused(text, complaint):
    with pytest.raises(ScenarioError, match=complaint):
        scenario.parse(text, "s")


@pytest.mark.parametrize("id", ["no/such", "../runner", "/etc", ""])
def test_an_unknown_id_is_refused(id):
    with pytest.raises(ScenarioError):
        load(id or "nothing")


def test_an_empty_directory_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="no scenario"):
        load_all(tmp_path)


def made(id, *clauses, **more):
    return Scenario(id, {"title": id, "clauses": list(clauses), "schedule": [], **more})


def test_scenarios_are_chosen_by_clause_by_id_and_by_weight():
    every = [
        made("WFE/a", "WFE-5"),
        made("WFE/b", "EVT-1", "WFE-6", heavy=True),
        made("worked/c", "EVT-1", **{"for": "reference"}),
    ]
    ids = lambda **how: [each.id for each in select(every, **how)]  # noqa: E731
    assert ids() == ["WFE/a", "WFE/b", "worked/c"]
    assert ids(clauses=["WFE-*"]) == ["WFE/a", "WFE/b"]
    assert ids(only=["w*"]) == ["worked/c"]
    assert ids(heavy=False) == ["WFE/a", "worked/c"]
    assert ids(reference=False, clauses=["EVT-1"]) == ["WFE/b"]


def test_versions_and_their_programs():
    single = made("a", "X", programs={"main": [{"return": {}}]})
    assert (single.versions, single.deployed) == (("v1",), {"v1": 10000})
    assert single.program("main") == [{"return": {}}]
    both = made(
        "b",
        "X",
        programs={"old": [1], "new": [2]},
        versions={"v1": {"main": "old"}, "v2": {"main": "new"}},
        deployed={"v1": 5000, "v2": 5000},
    )
    assert both.program("main") == {"v1": [1], "v2": [2]}
    assert both.deployed == {"v1": 5000, "v2": 5000}
    assert "deploy" in both.words
    with pytest.raises(ScenarioError, match="no program 'other'"):
        both.program("other")


def test_the_words_of_a_scenario_are_those_inside_calls_and_programs_too():
    document = made("a", "X", programs={"main": [{"try": [{"call": "terminate"}]}]}).document
    entries = [{"start": {"create": "i"}, "as": "c"}, {"dropResponse": {"resource": "GET", "on": "w"}}]
    words = Scenario("a", {**document, "schedule": entries}).words
    assert {"start", "create", "dropResponse", "resource", "call"} <= words
