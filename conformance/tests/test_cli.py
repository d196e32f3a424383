"""The command line, with tiny scenarios and Hosts that answer as they are told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result
from fencepost_conformance import scenario as scenarios
from fencepost_conformance.cli import application, connecting, pictures
from fencepost_conformance.generate.coverage import Coverage
from fencepost_conformance.generate.profiles import PROFILES, Profile
from fencepost_conformance.generate.search import Found
from fencepost_conformance.report.model import HostFacts
from fencepost_conformance.results import CheckResult, Difference, Outcome
from fencepost_conformance.scenario import Scenario
from fencepost_spec import catalogue, schemas, words

CLAUSES = {"WFE/tie": ("WFE-5",), "WFE/order": ("WFE-8", "WFE-2"), "STA/awake": ("STA-1",)}


def tiny(name: str, *clauses: str, **more: Any) -> Scenario:
    document = {
        "format": scenarios.FORMAT,
        "title": f"What {name} tries",
        "clauses": list(clauses),
        "programs": {"main": [{"return": {}}]},
        "schedule": [{"create": "i", "program": "main"}],
        **more,
    }
    return Scenario(name, document)


class Told:
    """A Host whose checks end as the test says; everything else passes."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self.turns: dict[str, list[Outcome]] = {}
        self.generated: list[tuple[str, int]] = []
        self.found = Found("quick", Coverage())
        self.seen: list[str] = []
        self.is_ours = True
        self.facts = HostFacts("mine", "Told", "1", ("clock",))

    def run(self, scenarios: Iterable[Scenario], progress: connecting.Progress) -> list[CheckResult]:
        results = [self.check(each) for each in scenarios]
        for result in results:
            progress(result)
        return results

    def profile(self, name: str) -> Profile:
        return PROFILES[name]

    def generate(self, profile: Profile, seed: int, progress: Callable[[str], None]) -> Found:
        self.generated.append((profile.name, seed))
        for _ in range(profile.examples):
            progress("generated")
        return self.found

    def check(self, scenario: Scenario) -> CheckResult:
        turns = self.turns.get(scenario.id)
        outcome = turns.pop(0) if turns else self.outcomes.get(scenario.id, "passed")
        self.seen.append(scenario.id)
        difference = Difference(
            next(iter(scenario.clauses), ""),
            "schedule[0]",
            {"status": "complete"},
            None,
            "not complete",
        )
        return CheckResult(
            scenario.id,
            scenario.title,
            scenario.clauses,
            outcome,
            differences=(difference,) if outcome == "failed" else (),
            missing=("kill",) if outcome == "unmeasured" else (),
            detail="the adapter broke" if outcome == "errored" else "",
            choices={"STA-1": "queued"} if scenario.id.startswith("STA") else {},
        )


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Told:
    told = Told()

    @contextmanager
    def connect(address: str, at_once: int = 1) -> Iterator[Told]:
        yield told

    shipped = tuple(tiny(name, *clauses) for name, clauses in CLAUSES.items())
    monkeypatch.setattr(connecting, "connect", connect)
    monkeypatch.setattr(scenarios, "shipped", lambda suite="form": shipped if suite == "form" else ())
    return told


def fencepost(*arguments: str | Path) -> Result:
    return CliRunner().invoke(application, [str(each) for each in arguments], prog_name="fencepost")


def test_check_prints_the_seed_and_the_verdict_alone_at_the_end(host: Told) -> None:
    result = fencepost("check", "--clause", "WFE-5", "--seed", "11")
    lines = result.stdout.rstrip("\n").split("\n")
    assert result.exit_code == 0
    assert lines[-1] == "qualified (selection: WFE-5)"
    assert any(line.split() == ["seed", "11"] for line in lines)
    assert host.seen == ["WFE/tie"]
    assert "\x1b" not in result.stdout


def test_a_whole_run_leaves_what_has_no_check_unmeasured(host: Told) -> None:
    result = fencepost("check")
    assert result.exit_code == 3
    assert result.stdout.rstrip("\n").split("\n")[-1] == "incomplete"


@pytest.mark.parametrize(
    ("outcome", "status"), [("passed", 0), ("failed", 1), ("unmeasured", 3), ("errored", 3)]
)
def test_the_exit_status_is_the_verdict(host: Told, outcome: Outcome, status: int) -> None:
    host.outcomes["WFE/tie"] = outcome
    assert fencepost("check", "mine", "--clause", "WFE-5").exit_code == status


def test_progress_is_a_few_plain_lines_on_standard_error_when_piped(host: Told) -> None:
    result = fencepost("check", "--only", "directed")
    assert result.stderr == "checked 1 of 3\nchecked 2 of 3\nchecked 3 of 3\n"
    result = fencepost("check")
    assert result.stderr.count("\n") == 10
    assert result.stderr.endswith("checked 63 of 63\n")


def test_text_of_a_host_is_escaped(host: Told) -> None:
    host.facts = HostFacts("mine", "\x1b[31mred\ud800", "1\n2")
    result = fencepost("check", "--clause", "WFE-5")
    assert result.exit_code == 0
    assert "\\x1b[31mred\\ud800 1\\n2 (mine)" in result.stdout


def test_named_scenarios_judge_what_they_measure(host: Told) -> None:
    result = fencepost("check", "--scenario", "WFE/order")
    assert result.exit_code == 0
    assert host.seen == ["WFE/order"]
    assert host.generated == []


def test_both_parts_run_unless_one_is_chosen_or_a_selection_made(host: Told) -> None:
    fencepost("check", "--seed", "3")
    assert (len(host.seen), host.generated) == (3, [("quick", 3)])
    fencepost("check", "--only", "directed")
    fencepost("check", "--clause", "WFE-5")
    assert (len(host.seen), host.generated) == (7, [("quick", 3)])
    fencepost("check", "--only", "generated", "--profile", "soak", "--seed", "4")
    assert (len(host.seen), host.generated) == (7, [("quick", 3), ("soak", 4)])


def test_the_profile_of_continuous_integration_always_tries_the_same(host: Told) -> None:
    fencepost("check", "--profile", "ci")
    fencepost("check", "--profile", "ci")
    fencepost("check", "--profile", "ci", "--seed", "9")
    assert host.generated == [("ci", 0), ("ci", 0), ("ci", 9)]


def test_what_is_generated_alone_is_judged_by_what_it_exercised(host: Told) -> None:
    host.found.coverage.clauses.update(["WFE-5", "STA-1"])
    result = fencepost("check", "--only", "generated", "--coverage")
    assert result.exit_code == 0
    assert result.stdout.rstrip("\n").split("\n")[-1] == "qualified (selection: generated only)"
    assert "WFE-5" in result.stdout


def test_a_generated_failure_fails_its_clauses_and_is_kept(
    host: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = tiny("generated/WFE-8-1", "WFE-8", judged=True)
    host.outcomes[scenario.id] = "failed"
    host.found = Found("quick", Coverage(), [scenario], [host.check(scenario)])
    result = fencepost("check", "mine", "--json", "r.json", "--junit", "r.xml")
    assert result.exit_code == 1
    kept = Path("fencepost-failures") / "generated-WFE-8-1.json"
    assert f"    fencepost replay {kept} mine\n" in result.stdout
    assert json.loads(kept.read_text())["observed"]["outcome"] == "failed"
    read = json.loads(Path("r.json").read_text())
    assert schemas.problems("report", read) == []
    assert {each["id"] for each in read["clauses"] if each["verdict"] == "failed"} == {"WFE-8"}
    assert read["generated"]["profile"] == "quick"
    failures = [
        case.get("name")
        for case in ET.parse("r.xml").getroot().iter("testcase")
        if case.find("failure") is not None
    ]
    assert failures == ["WFE-8"]


def test_nobody_is_qualified_where_generation_broke_down(
    host: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = tiny("generated/errored-1", judged=True)
    broken = CheckResult(scenario.id, "the adapter broke down", (), "errored", detail="boom")
    host.found = Found("quick", Coverage(), [scenario], [broken])
    host.found.coverage.clauses.update(["WFE-5"])
    result = fencepost("check", "mine", "--only", "generated")
    assert result.exit_code == 3
    assert "ERRORED generated/errored-1" in result.stdout
    assert "boom" in result.stdout


def test_the_order_of_a_run_is_drawn_from_its_seed_and_the_report_does_not_show_it(
    host: Told, tmp_path: Path
) -> None:
    orders = set()
    for seed in range(12):
        host.seen.clear()
        fencepost("check", "--seed", str(seed), "--json", tmp_path / "report.json")
        orders.add(tuple(host.seen))
        read = json.loads((tmp_path / "report.json").read_text())
        assert [check["scenario"] for check in read["checks"]] == sorted(CLAUSES)
    assert len(orders) > 1


def test_reports_and_reproducers_are_written_and_agree(host: Told, tmp_path: Path) -> None:
    host.outcomes["WFE/tie"] = "failed"
    result = fencepost(
        "check",
        "mine",
        "--clause",
        "WFE-[58]",
        "--json",
        tmp_path / "r.json",
        "--junit",
        tmp_path / "r.xml",
        "--keep",
        tmp_path / "kept" / "here",
    )
    assert result.exit_code == 1
    read = json.loads((tmp_path / "r.json").read_text())
    assert schemas.problems("report", read) == []
    kept = tmp_path / "kept" / "here" / "WFE-tie.json"
    assert f"fencepost replay {kept} mine" in result.stdout
    replays = {check["scenario"]: check["replay"] for check in read["checks"]}
    assert replays["WFE/tie"] == f"fencepost replay {kept} mine"
    root = ET.parse(tmp_path / "r.xml").getroot()
    assert {case.get("name") for case in root.iter("testcase")} == {"WFE-5", "WFE-8"}
    document = json.loads(kept.read_text())
    assert scenarios.from_document(document, "kept").clauses == CLAUSES["WFE/tie"]
    assert document["observed"]["differences"][0]["seen"] is None
    assert document["observed"]["host"]["name"] == "Told"


def test_replay_names_the_difference_and_says_whether_it_is_the_recorded_one(
    host: Told, tmp_path: Path
) -> None:
    host.outcomes["WFE/tie"] = host.outcomes["WFE-tie"] = "failed"
    fencepost("check", "mine", "--clause", "WFE-5", "--keep", tmp_path)
    result = fencepost("replay", tmp_path / "WFE-tie.json", "mine")
    assert result.exit_code == 1
    assert 'expected {"status": "complete"}' in result.stdout
    assert "the same as was recorded" in result.stdout
    assert result.stdout.rstrip("\n").split("\n")[-2:] == ["5 of 5 runs failed", "failed"]
    host.outcomes.clear()
    result = fencepost("replay", tmp_path / "WFE-tie.json", "mine")
    assert result.exit_code == 0
    assert "another outcome than was recorded (failed)" in result.stdout
    assert result.stdout.rstrip("\n").split("\n")[-1] == "fixed"


@pytest.mark.parametrize(
    ("outcomes", "answer", "status"),
    [
        (["failed"] * 5, "failed", 1),
        (["passed"] * 5, "fixed", 0),
        (["passed", "failed", "passed", "passed", "passed"], "flaky", 4),
        (["failed", "errored", "failed", "failed", "failed"], "flaky", 4),
        (["passed", "errored", "passed", "passed", "passed"], "errored", 2),
        (["unmeasured"] * 5, "unmeasured", 3),
    ],
)
def test_a_reproducer_is_fixed_failed_flaky_or_errored(
    host: Told, tmp_path: Path, outcomes: list[Outcome], answer: str, status: int
) -> None:
    host.turns = {"made-up": list(outcomes)}
    path = tmp_path / "made-up.json"
    path.write_text(json.dumps(tiny("made-up", "WFE-5", judged=True).document))
    result = fencepost("replay", path, "mine")
    assert result.stdout.rstrip("\n").split("\n")[-1] == answer
    assert result.exit_code == status
    assert host.turns["made-up"] == []


def test_a_scenario_of_the_reference_is_run_on_our_hosts_only(host: Told, tmp_path: Path) -> None:
    path = tmp_path / "exact.json"
    path.write_text(json.dumps(tiny("exact", "WFE-5", **{"for": "reference"}).document))
    assert fencepost("replay", path, "mine").exit_code == 0
    host.is_ours = False
    result = fencepost("replay", path, "mine")
    assert result.exit_code == 2
    assert "rests on choices of the reference" in result.stderr


KNOWN = '[[expected]]\nclause = "{}"\nverdict = "{}"\nreason = "being mended"\n'


@pytest.mark.parametrize(
    ("clause", "verdict", "status"),
    [("WFE-5", "failed", 0), ("WFE-5", "unmeasured", 1), ("WFE-555", "failed", 1), ("STA-1", "failed", 1)],
)
def test_expected_failures_change_the_exit_status_and_not_the_verdict(
    host: Told, tmp_path: Path, clause: str, verdict: str, status: int
) -> None:
    host.outcomes["WFE/tie"] = "failed"
    known = tmp_path / "known.toml"
    known.write_text(KNOWN.format(clause, verdict))
    result = fencepost("check", "--clause", "WFE-5", "--expected-failures", known)
    assert result.exit_code == status
    assert result.stdout.rstrip("\n").split("\n")[-1] == "not-qualified (selection: WFE-5)"


BAD = {
    "unknown clause": (["check", "--clause", "WFE-55"], "no such clause; did you mean"),
    "unknown scenario glob": (["check", "--scenario", "nothing/*"], "no such scenario"),
    "unknown part": (["check", "--only", "nothing/*"], "'directed', 'generated'"),
    "a part of the generated": (["check", "--only", "generated", "--clause", "WFE-5"], "leave them out"),
    "unknown profile": (["check", "--profile", "long"], "'quick', 'ci', 'soak'"),
    "no check left": (["check", "--clause", "WFE-9"], "leaves no check"),
    "unwritable json": (["check", "--json", "{tmp}/no/such/report.json"], "No such file or directory"),
    "directory as junit": (["check", "--junit", "{tmp}"], "Is a directory"),
    "keep is a file": (["check", "--keep", "{tmp}/not-json.json"], "File exists"),
    "missing expected": (["check", "--expected-failures", "{tmp}/none.toml"], "No such file"),
    "bad expected": (["check", "--expected-failures", "{tmp}/not-json.json"], "neither TOML nor JSON"),
    "bad seed": (["check", "--seed", "x"], "not a valid integer"),
    "missing file": (["replay", "{tmp}/none.json"], "no such file"),
    "near id": (["replay", "WFE/tied"], "did you mean WFE/tie"),
    "a directory": (["replay", "{tmp}"], "no such file"),
    "not json": (["replay", "{tmp}/not-json.json"], "not JSON"),
    "not utf-8": (["replay", "{tmp}/latin.json"], "utf-8"),
    "no scenario": (["replay", "{tmp}/empty.json"], "empty"),
    "unknown word": (["explain", "wait_timeot"], "did you mean wait_timeout"),
    "unknown command": (["chek"], "No such command"),
    "missing source": (["list", "clauses", "--source", "{tmp}/none"], "No such file"),
    "binary source": (["list", "clauses", "--source", "{tmp}/latin.json"], "UTF-8"),
}


@pytest.mark.parametrize("name", BAD)
def test_every_bad_input_is_one_line_that_says_what_to_do(host: Told, tmp_path: Path, name: str) -> None:
    (tmp_path / "not-json.json").write_text("{")
    (tmp_path / "empty.json").write_text("{}")
    (tmp_path / "latin.json").write_bytes(b'{"title": "\xe9"}')
    arguments, words = BAD[name]
    result = fencepost(*(each.format(tmp=tmp_path) for each in arguments))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("fencepost: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert host.seen == []


@pytest.mark.parametrize(
    "command", [[], ["check"], ["replay"], ["ask"], ["explain"], ["list"], ["list", "clauses"]]
)
def test_help_teaches(command: list[str]) -> None:
    result = fencepost(*command, "--help")
    assert result.exit_code == 0
    assert "Traceback" not in result.output
    assert "fencepost " in result.output


def test_the_version_is_one_line() -> None:
    result = fencepost("--version")
    assert result.exit_code == 0
    assert result.output.startswith("fencepost ")


ADAPTERS = {
    "unknown host": ("refrence", "did you mean reference"),
    "no such module": ("python:no_such_module_here:make", "No module named"),
    "no such factory": ("python:fencepost_conformance.results:make", "make"),
    "no colon": ("python:fencepost_conformance", "python:MODULE:FACTORY"),
    "does not import": ("python:own_adapters.crooked:make", "crooked"),
    "raises when it is made": ("python:own_adapters.adapters:fail", "cannot be made"),
    "raises in its handshake": ("python:own_adapters.adapters:Raising", "no hands"),
    "another protocol": ("python:own_adapters.adapters:Other", "speaks"),
    "no handshake": ("python:types:SimpleNamespace", "handshake"),
}


ADAPTERS_MODULE = """
def fail():
    raise RuntimeError("it cannot be made")

class Raising:
    def handshake(self, hello):
        raise RuntimeError("no hands\\nat all")

class Other:
    def handshake(self, hello):
        return {"protocol": "other@1"}
"""


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_bad_host_is_one_line_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    address, words = ADAPTERS[name]
    package = tmp_path / "own_adapters"
    package.mkdir()
    (package / "adapters.py").write_text(ADAPTERS_MODULE)
    (package / "crooked.py").write_text("def make(:\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(tiny("tiny", "WFE-5").document))
    result = fencepost("replay", path, address)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("fencepost: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


def test_explain_shows_the_clause_its_checks_its_parts_and_its_choices(host: Told) -> None:
    text = fencepost("explain", "wfe-5").stdout
    assert "WFE-5: required" in text
    assert "check WFE/tie: What WFE/tie tries" in text
    assert "WFE-5a (derived)" in text
    assert "choice" in fencepost("explain", "STA-1").stdout


def test_every_clause_chapter_limit_and_quoted_word_can_be_explained(host: Told) -> None:
    known = catalogue.load()
    for word in (*words.load(), *known.chapters, "WFE-5", "OBS-3", "AUT-1", "inbox_events", "kill"):
        assert fencepost("explain", word).exit_code == 0, word


@pytest.mark.parametrize("what", ["clauses", "instruments", "scenarios", "hosts", "messages", "schemas"])
def test_lists_are_tables_or_json(host: Told, what: str) -> None:
    rows = json.loads(fencepost("list", what, "--json").stdout)
    table = fencepost("list", what).stdout
    assert rows
    for row in rows:
        assert next(iter(row.values())) in table


def test_list_clauses_compares_a_copy_of_the_source(host: Told, tmp_path: Path) -> None:
    path = tmp_path / "other.md"
    path.write_text("# A title\n\nAnother document.\n")
    result = fencepost("list", "clauses", "--source", path)
    assert result.exit_code == 1
    assert "another document" in result.stdout


def test_check_writes_a_page_with_a_picture_of_each_failure(host: Told, tmp_path: Path) -> None:
    host.outcomes["WFE/tie"] = "failed"
    page = tmp_path / "report.html"
    assert fencepost("check", "--clause", "WFE-5", "--html", page).exit_code == 1
    text = page.read_text(encoding="utf-8")
    assert "not qualified" in text
    assert text.count("<svg ") == 1
    assert "not complete" in text


def test_check_refuses_a_page_that_cannot_be_written(host: Told, tmp_path: Path) -> None:
    result = fencepost("check", "--html", tmp_path / "missing" / "report.html")
    assert result.exit_code == 2
    assert host.seen == []


def test_a_host_in_this_process_is_drawn_from_its_own_trace(tmp_path: Path) -> None:
    scenario = scenarios.load("WFE/event-at-the-deadline-wins")
    told = CheckResult(scenario.id, scenario.title, scenario.clauses, "failed")
    for address, source in (("reference", "own trace"), ("python:elsewhere:make", "the schedule")):
        drawn = pictures.draw(HostFacts(address, "Host", "1", ("clock",)), [scenario], [told])
        assert source in drawn[scenario.id].source
