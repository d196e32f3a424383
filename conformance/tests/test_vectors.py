"""The vectors: those of this version are true, and a difference is found where it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from fencepost_conformance import scenario, vectors
from fencepost_conformance.cli import application

COMMITTED = Path(__file__).parents[1] / "vectors"


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    chosen = tuple(each for each in scenario.shipped() if each.id.startswith(("ERR/", "SLP/")))
    monkeypatch.setattr(scenario, "shipped", lambda: chosen)
    list(vectors.write(tmp_path, seed=3, count=2))
    return tmp_path


def changed(directory: Path, file: str, place: int, **changes: object) -> list[str]:
    path = directory / file
    made = json.loads(path.read_text())
    made[place] |= changes
    path.write_text(json.dumps(made))
    return list(vectors.differences(directory))


def test_the_vectors_of_this_version_are_what_the_reference_answers() -> None:
    assert list(vectors.differences(COMMITTED, heavy=False)) == []


def test_what_was_written_is_true(few: Path) -> None:
    assert list(vectors.differences(few)) == []
    manifest = json.loads((few / vectors.MANIFEST).read_text())
    assert [each["file"] for each in manifest["files"]] == ["ERR.json", "SLP.json", "generated.json"]
    assert manifest["files"][2]["scenarios"] == 2


def test_a_sample_depends_on_its_seed_alone() -> None:
    first, again, other = ([each.document for each in vectors.sample(seed, 2)] for seed in (5, 5, 6))
    assert first == again != other


def test_a_wrong_answer_is_named_by_its_entry(few: Path) -> None:
    answers = json.loads((few / "SLP.json").read_text())[0]["answers"]
    wrong = [*answers[:-1], {"entry": answers[-1]["entry"], "error": "no"}]
    found = changed(few, "SLP.json", 0, answers=wrong)
    assert found[0].startswith("SLP.json: not the file that the manifest names")
    assert f"schedule[{answers[-1]['entry']}]: " in found[1]
    assert len(found) == 2


def test_a_changed_scenario_and_a_missing_one_are_named(few: Path) -> None:
    document = json.loads((few / "ERR.json").read_text())[0]["document"]
    found = changed(few, "ERR.json", 0, document={**document, "title": "other"})
    assert found[1].endswith(": the scenario has changed")
    found = changed(few, "ERR.json", 0, scenario="ERR/none")
    assert "ERR/none: no longer among the scenarios" in found
    assert found[-1].endswith(": not among the vectors")


def test_large_answers_are_digests() -> None:
    heavy = next(each for each in scenario.shipped() if each.id == "ABI/largest-output")
    answers = next(vectors.vectors([heavy]))["answers"]
    assert any(each.get("bytes", 0) > vectors.WHOLE_BYTES for each in answers)


def test_the_command_says_what_it_did_and_what_differs(few: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    result = run(application, ["vectors", str(few), "--check"])
    assert (result.exit_code, result.stdout) == (0, "all as the reference has it\n")
    changed(few, "SLP.json", 0, answers=[])
    assert run(application, ["vectors", str(few), "--check"]).exit_code == 1
    result = run(application, ["vectors", str(tmp_path / "none"), "--check"])
    assert result.exit_code == 2
