"""The commands of `fencepost model`: what they print, and their exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fencepost_conformance import inprocess, runner, scenario
from fencepost_conformance.cli import application
from fencepost_conformance.hosts.reference import ReferenceAdapter
from fencepost_model import check as checking
from fencepost_model import compare, configs, history, messages, scenarios, tools
from fencepost_model import trace as tracing

STEPS = 12
LONG = {
    "format": "fencepost.scenario@1",
    "title": "Many steps, three events, two waits and a retry",
    "clauses": ["WFE-8"],
    "programs": {
        "main": [
            {"repeat": STEPS, "index": "k", "ops": [{"do": "a${k}", "effect": {"value": {}}}]},
            {
                "do": "again",
                "effect": {"attempts": [{"throw": "no"}, {"value": {}}]},
                "retry": {"maxAttempts": 2, "initialDelaySeconds": 5},
            },
            {"wait": "w", "type": "go", "timeoutSeconds": 50, "as": "p"},
            {"wait": "v", "type": "go", "timeoutSeconds": 50, "as": "q"},
            {"return": {}},
        ]
    },
    "schedule": [
        {"create": "i", "program": "main"},
        {"settle": True},
        {"advance": 5},
        {"settle": True},
        {"sendEvent": "i", "type": "no", "payload": {"n": 1}},
        {"sendEvent": "i", "type": "go", "payload": {"n": 2}},
        {"sendEvent": "i", "type": "go", "payload": {"n": 3}},
        {"settle": True},
        {"status": "i", "expect": {"status": "complete", "output": {}}},
    ],
}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(application, arguments, prog_name="fencepost")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    path = tmp_path_factory.mktemp("history") / "long.json"
    path.write_text(json.dumps(LONG), encoding="utf-8")
    result = run("ask", str(path), "--json")
    assert result.exit_code == 0, result.output
    moments: list[dict[str, Any]] = json.loads(result.output)
    return moments


def followed(folder: Path, moments: list[dict[str, Any]]) -> Result:
    path = folder / "history.json"
    path.write_text(json.dumps(moments), encoding="utf-8")
    return run("model", "trace", str(path))


def needs_java() -> None:
    try:
        tools.find()
    except tools.MissingTools as missing:
        pytest.skip(str(missing))


def test_a_history_of_the_reference_is_accepted(tmp_path: Path, recorded: list[dict[str, Any]]) -> None:
    needs_java()
    result = followed(tmp_path, recorded)
    assert result.exit_code == 0, result.output
    assert "i in Fencing: accepted" in result.output
    assert "i in Waits: accepted" in result.output


def test_a_history_that_is_too_long_is_trouble(
    tmp_path: Path, recorded: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "LONGEST", 10)
    result = followed(tmp_path, recorded)
    assert result.exit_code == 2
    assert "at most 10 are followed; cut the history" in result.output


def test_a_swapped_event_is_refused_where_it_stands(tmp_path: Path, recorded: list[dict[str, Any]]) -> None:
    needs_java()
    sent = [place for place, moment in enumerate(recorded) if moment["what"].startswith("SendEvent")]
    first, second = sent[0], sent[1]
    swapped = list(recorded)
    swapped[first] = {**recorded[second], "at": recorded[first]["at"]}
    swapped[second] = {**recorded[first], "at": recorded[second]["at"]}
    result = followed(tmp_path, swapped)
    assert result.exit_code == 1, result.output
    assert f"i in Waits: refused at moment {first + 1}," in result.output
    assert "SendEvent" in result.output


def test_a_commit_after_its_stop_is_refused_where_it_stands(
    tmp_path: Path, recorded: list[dict[str, Any]]
) -> None:
    needs_java()
    commit = next(p for p, moment in enumerate(recorded) if moment["what"].startswith("CommitAttempt"))
    stop = next(p for p, moment in enumerate(recorded) if moment["what"].startswith("StopAck"))
    moved = [*recorded[:commit], *recorded[commit + 1 : stop + 1], recorded[commit], *recorded[stop + 1 :]]
    result = followed(tmp_path, moved)
    assert result.exit_code == 1, result.output
    next_step = next(
        p for p in range(commit, stop) if moved[p]["what"].startswith("BeginStep") and p >= commit
    )
    assert f"i in Fencing: refused at moment {next_step + 1}," in result.output


def test_a_deletion_is_followed_too(tmp_path: Path) -> None:
    needs_java()
    shown = run("ask", "DEL/a-late-owner", "--json")
    moments: list[dict[str, Any]] = json.loads(shown.output)
    result = followed(tmp_path, moments)
    assert "the resource in Resource: accepted" in result.output
    close = next(p for p, moment in enumerate(moments) if moment["what"].startswith("Close"))
    stop = next(p for p in range(close, len(moments)) if moments[p]["what"].startswith("StopAck"))
    purge = next(p for p, moment in enumerate(moments) if moment["what"].startswith("Purge"))
    early = [*moments[:stop], moments[purge], *moments[stop:purge], *moments[purge + 1 :]]
    result = followed(tmp_path, early)
    assert result.exit_code == 1
    assert f"the resource in Resource: refused at moment {stop + 1}," in result.output


def test_what_is_no_history_is_trouble(tmp_path: Path) -> None:
    path = tmp_path / "no.json"
    path.write_text("[{}]", encoding="utf-8")
    result = run("model", "trace", str(path))
    assert result.exit_code == 2
    assert "moment 1 lacks" in result.output
    path.write_text("no", encoding="utf-8")
    assert run("model", "trace", str(path)).exit_code == 2


def test_explore_prints_figures() -> None:
    result = run("model", "explore", "FencingSmall")
    assert result.exit_code == 0
    assert "FencingSmall: holds on" in result.output


def test_an_unknown_configuration_is_trouble() -> None:
    for command in ("check", "compare", "explore"):
        result = run("model", command, "Nothing")
        assert result.exit_code == 2
        assert "there is no configuration 'Nothing'" in result.output
    assert run("model", "compare", "DurableWorkflowSmall").exit_code == 2


def test_a_counterexample_becomes_a_scenario(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    walked = compare.universe("FencingSmall")
    path = max(scenarios.paths(walked), key=lambda each: len(each.moves))
    entries = [messages.Entry("Init", walked.image(walked.initial()))]
    entries += [messages.Entry(move.name, walked.image(move.world)) for move in path.moves]
    configuration = configs.load("FencingSmall")
    broken = configs.stated("Fencing")["Once"]
    found = checking.Result(
        configuration, messages.Run("violated", "Once", trace=tuple(entries), distinct=10), broken
    )
    monkeypatch.setattr(checking, "check", lambda name, progress: found)
    target = tmp_path / "counterexample.json"
    result = run("model", "check", "FencingSmall", "--scenario", str(target))
    assert result.exit_code == 1
    assert "Once broke" in result.output
    assert admitted(json.loads(target.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", ["FencingSmall", "WaitsSmall", "ResourceSmall"])
def test_paths_cover_every_edge_class_and_are_admitted(name: str) -> None:
    walked = compare.universe(name)
    chosen = scenarios.paths(walked)
    covered = {each for path in chosen for each in path.classes}
    seen, queue = {walked.initial()}, [walked.initial()]
    every = set()
    while queue:
        world = queue.pop()
        for move in walked.moves(world):
            every.add(scenarios.edge_class(world, move))
            if move.world not in seen:
                seen.add(move.world)
                queue.append(move.world)
    assert covered == every
    for number, path in enumerate(chosen):
        assert admitted(scenarios.scenario(walked, path, f"{name} {number}")), path.classes


def admitted(document: dict[str, Any]) -> bool:
    """Whether the judge admits what the reference does in a scenario."""
    connection = inprocess.InProcess(ReferenceAdapter())
    result = runner.run_scenario(connection, scenario.from_document(document, "model/path"))
    return result.outcome == "passed"


def test_scenarios_are_written(tmp_path: Path) -> None:
    result = run("model", "scenarios", "2", "--config", "FencingSmall", "--into", str(tmp_path))
    assert result.exit_code == 0
    assert "2 of" in result.output
    for path in tmp_path.iterdir():
        assert scenario.load(path).judged
    assert len(list(tmp_path.iterdir())) == 2


def test_rows_are_read_as_they_are_shown() -> None:
    told = history.told('Recorded outcome=(Succeeded document={"a": "x) y"}) handed_over number=3')
    assert told.name == "Recorded"
    assert told["outcome"].name == "Succeeded"
    assert told["outcome"]["document"] == {"a": "x) y"}
    assert (told["handed_over"], told["number"]) == (True, 3)
