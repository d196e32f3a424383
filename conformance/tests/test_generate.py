"""Generated scenarios: what is drawn, how a failure shrinks, and what a search keeps. The judge is a stand-in
that refuses what the test says."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from fencepost_conformance import judging
from fencepost_conformance.adapter import INSTRUMENTS, AdapterFault, Connection, Handshake
from fencepost_conformance.generate import coverage, reach, reduction
from fencepost_conformance.generate.arguments import Plan, Trap
from fencepost_conformance.generate.deadlines import OFFSETS, around, in_play
from fencepost_conformance.generate.machine import ScenarioMachine
from fencepost_conformance.generate.profiles import FIXED_SEED, PROFILES, Profile
from fencepost_conformance.generate.programs import Program, programs
from fencepost_conformance.generate.search import Enough, Failure, Found, Search, explained, search
from fencepost_conformance.generate.stage import Stage
from fencepost_conformance.generate.telling import told
from fencepost_conformance.hosts import resolve
from fencepost_conformance.hosts.reference import ReferenceAdapter
from fencepost_conformance.inprocess import InProcess
from fencepost_conformance.judging import Verdict
from fencepost_conformance.observations import Observation
from fencepost_conformance.runner import greet, run_scenario
from fencepost_conformance.scenario import Scenario, problems
from fencepost_spec import catalogue
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TINY = Profile("tiny", 12, 8, 1.0)

Refusal = Callable[[Scenario, Sequence[Observation], Handshake], Verdict | None]


def verdict(index: int, *clauses: str) -> Verdict:
    return Verdict(index, "status", {"status": "complete"}, [{"status": "running"}], clauses)


def refuse_status(status: str, clause: str) -> Refusal:
    """A judge that admits everything but one status."""

    def judge(
        scenario: Scenario, observations: Sequence[Observation], handshake: Handshake
    ) -> Verdict | None:
        for each in observations:
            value = getattr(each.answer, "value", None)
            if each.word == "status" and isinstance(value, dict) and value.get("status") == status:
                return verdict(each.index, clause)
        return None

    return judge


def admit(scenario: Scenario, observations: Sequence[Observation], handshake: Handshake) -> Verdict | None:
    return None


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Callable[[Refusal], None]:
    def use(refusal: Refusal) -> None:
        monkeypatch.setattr(judging, "admitted", refusal)

    use(admit)
    return use


def found(seed: int = 1, profile: Profile = TINY, **more: Any) -> Found:
    return search(resolve("reference"), profile, seed, **more)


# Programs


@given(st.booleans().flatmap(lambda both: programs("a", versions=both)))
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_every_program_fits_the_scenario_format_and_keeps_to_its_prefix(program: Program) -> None:
    document = {
        "format": "fencepost.scenario@1",
        "title": "t",
        "judged": True,
        "clauses": ["STP-1"],
        "programs": {"p1": list(program.operations), "p2": list(program.newer or ())},
        "schedule": [{"create": "i", "program": "p1"}],
    }
    assert problems(document) == []
    assert all(name.startswith("a") for name in program.steps)
    assert all(gate.startswith("g-a") for gate in program.gates)
    assert "\n" not in repr(program)


def test_a_program_reads_as_words() -> None:
    program: list[dict[str, Any]] = [
        {"do": "a1", "effect": {"attempts": [{"throw": "x"}, {"value": {}}]}, "retry": {"maxAttempts": 2}},
        {"try": [{"sleep": "a2", "seconds": 5}], "catch": "e", "handler": [{"rethrow": "e"}]},
        {"together": [{"wait": "a3", "type": "go", "timeoutSeconds": 1, "as": "r"}, {"throw": "y"}]},
    ]
    assert told(program) == (
        'do a1 = throw "x" then value {} retry maxAttempts 2; '
        "try {sleep a2 5 s} catch e {rethrow e}; "
        "together {wait a3 'go' for 1 s as r | throw \"y\"}"
    )
    plan = Plan(Program(({"sleep": "a1", "seconds": 5},)), {"n": 1}, (Trap("kill", "parked:a1"),))
    assert repr(plan) == "<sleep a1 5 s> with params {'n': 1}, kill at parked:a1"


# Deadlines


def test_every_deadline_in_play_is_aimed_at_from_all_sides() -> None:
    connection = InProcess(ReferenceAdapter())
    stage = Stage(connection, greet(connection))
    stage.begin()
    retry = {"maxAttempts": 2, "initialDelaySeconds": 10}
    operations: dict[str, dict[str, Any]] = {
        "i": {"sleep": "a1", "seconds": 60},
        "j": {"wait": "b1", "type": "go", "timeoutSeconds": 5},
        "k": {"do": "c1", "effect": {"throw": "x"}, "retry": retry},
        "l": {"do": "d1", "effect": {"gate": "g", "then": {"value": {}}}},
        "m": {"return": {}},
    }
    for id, operation in operations.items():
        stage.play({"create": id, "program": stage.new_program(Program((operation,)))})
    host = stage.reference
    assert host is not None
    seen = {(each.what, each.instance, each.step, each.at) for each in in_play(host)}
    assert {
        ("the sleep", "i", "a1", 60_000),
        ("the wait", "j", "b1", 5_000),
        ("the retry", "k", "c1", 10_000),
        ("the lease", "l", "", 30_000),
        ("the lifetime", "i", "", 31_536_000_000),
        ("the retention", "m", "", 2_592_000_000),
    } <= seen
    assert stage.awaited() == ("go",)
    instants = around(host)
    assert {each.at for each in instants if each.deadline.step == "a1"} == {
        60_000 + each for each in OFFSETS.values()
    }
    assert repr(instants[0]) == "onto the wait b1 of j (5 s)"
    stage.advance_to(59_999)
    assert stage.entries[-1] == {"advance": 59.999}
    stage.end()


# Rules


def test_only_what_the_host_offers_is_played(judge: Callable[[Refusal], None]) -> None:
    words: set[str] = set()

    class Bare(ReferenceAdapter):
        def handshake(self, hello: Any) -> dict[str, Any]:
            return {**super().handshake(hello), "instruments": ["clock", "journal"]}

    found = search(lambda: InProcess(Bare()), TINY, 3)
    words.update(found.coverage.words)
    assert found.results == []
    offered = {word for name in ("clock", "journal") for word in INSTRUMENTS[name].words}
    calls = {"create", "get", "status", "sendEvent", "terminate", "start", "settle"}
    assert words <= offered | calls
    assert "advance" in words


def test_a_reference_beside_a_foreign_host_gives_the_deadlines(judge: Callable[[Refusal], None]) -> None:
    class Foreign:
        """An adapter that is none of ours, by way of one that is."""

        def __init__(self) -> None:
            self._own = ReferenceAdapter()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._own, name)

    found = search(lambda: InProcess(Foreign()), TINY, 1)
    assert found.results == []
    assert found.coverage.words["advance"] > 0
    assert found.coverage.clauses["CTX-1"] > 0


def test_every_rule_has_a_name_that_says_what_happens() -> None:
    connection = InProcess(ReferenceAdapter())
    machine = ScenarioMachine(connection, greet(connection))
    names = {each.function.__name__ for each in machine.rules}
    assert {"create_with_an_equal_id", "move_the_clock_to_a_step", "lose_the_answer", "get_stuck"} <= names


# Search


def test_the_same_seed_makes_the_same_scenarios(judge: Callable[[Refusal], None]) -> None:
    def counts(seed: int) -> str:
        return json.dumps(found(seed).coverage.document())

    counts(5)  # Hypothesis draws on the constants of all modules: from here on they are loaded
    assert counts(5) == counts(5)
    assert counts(5) != counts(6)


def test_a_failure_shrinks_to_a_minimal_scenario_that_replays(judge: Callable[[Refusal], None]) -> None:
    judge(refuse_status("sleeping", "SLP-2"))
    result = found(seed=2)
    (check,), (scenario,) = result.results, result.scenarios
    assert check.outcome == "failed"
    assert check.clauses == scenario.clauses == ("SLP-2",)
    assert check.scenario == scenario.id
    assert check.differences[0].seen == {"status": "complete"}
    assert problems(scenario.document) == []
    (program,) = scenario.programs.values()
    assert len(program) == 1
    assert len(scenario.schedule) <= 3
    assert [each.clause for each in run_scenario(InProcess(ReferenceAdapter()), scenario).differences] == [
        "SLP-2"
    ]


def test_each_clause_that_is_blamed_is_a_failure_of_its_own(judge: Callable[[Refusal], None]) -> None:
    one, other = refuse_status("sleeping", "SLP-2"), refuse_status("waiting", "WFE-3")
    judge(lambda *seen: one(*seen) or other(*seen))
    result = found(seed=1, profile=Profile("more", 150, 8, 20.0))
    assert {check.clauses for check in result.results} == {("SLP-2",), ("WFE-3",)}


def test_the_fewest_clauses_that_explain_all_failures_are_blamed() -> None:
    def failure(*clauses: str) -> Failure:
        return Failure({"schedule": [{"status": "i"}]}, verdict(0, *clauses))

    one, other, third = failure("SLP-2", "WFE-8"), failure("WFE-8", "WFE-2"), failure("DO-3", "DO-2")
    assert explained([one, other, third]) == [(one, "WFE-8"), (other, "WFE-8"), (third, "DO-3")]
    assert explained([one]) == [(one, "SLP-2")]
    assert explained([]) == []


def test_the_clause_that_a_scenario_names_is_blamed_if_it_speaks_against_what_was_seen() -> None:
    seen = verdict(3, "SLP-2", "WFE-8")
    assert [each.clause for each in seen.differences(["WFE-8"])] == ["WFE-8"]
    assert [each.clause for each in seen.differences(["DO-3"])] == ["SLP-2"]
    (difference,) = seen.differences()
    assert (difference.clause, difference.at) == ("SLP-2", "schedule[3]")
    assert difference.message == "no admissible Host shows this after status (SLP-2, or WFE-8)"
    assert verdict(3, "SLP-2").message("SLP-2") == "no admissible Host shows this after status (SLP-2)"


def test_the_first_failure_may_be_enough(judge: Callable[[Refusal], None]) -> None:
    judge(refuse_status("sleeping", "SLP-2"))
    result = found(seed=2, most=1)
    assert len(result.results) == 1
    assert result.coverage.scenarios < TINY.examples


def test_what_does_not_fail_again_is_still_told(judge: Callable[[Refusal], None]) -> None:
    judge(admit)
    refusals = [verdict(0, "BND-3")]
    judge(lambda *seen: refusals.pop() if refusals else None)
    result = found(seed=1, most=1)
    assert result.results[0].clauses == ("BND-3",)
    assert "did not fail again" in result.results[0].detail


@pytest.mark.parametrize("fault", [AdapterFault("it broke"), RuntimeError("it broke")])
def test_a_fault_ends_the_search_and_is_no_failure(
    judge: Callable[[Refusal], None], monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def breaks(self: ReferenceAdapter, milliseconds: int) -> None:
        raise fault

    monkeypatch.setattr(ReferenceAdapter, "advance", breaks)
    result = found(seed=1)
    (check,) = result.results
    assert (check.outcome, check.clauses) == ("errored", ())
    assert "it broke" in check.detail
    assert {"advance", "recover"} & result.scenarios[0].schedule[-1].keys()


def test_a_fault_of_the_judge_is_not_shrunk(judge: Callable[[Refusal], None]) -> None:
    def breaks(*seen: Any) -> None:
        raise KeyError("a state")

    judge(breaks)
    result = found(seed=1)
    assert result.results[0].outcome == "errored"
    assert "the judge broke down" in result.results[0].detail
    assert result.coverage.scenarios <= 1


# Judged scenarios in the runner


def test_a_judged_scenario_is_judged_wherever_it_is_run(judge: Callable[[Refusal], None]) -> None:
    document = {
        "format": "fencepost.scenario@1",
        "title": "t",
        "judged": True,
        "clauses": ["SLP-2"],
        "programs": {"p1": [{"sleep": "a1", "seconds": 5}]},
        "schedule": [{"create": "i", "program": "p1"}, {"settle": True}, {"status": "i"}, {"get": "nobody"}],
    }
    connection: Connection = InProcess(ReferenceAdapter())
    assert run_scenario(connection, Scenario("s", document)).outcome == "passed"
    judge(refuse_status("sleeping", "SLP-2"))
    result = run_scenario(connection, Scenario("s", document))
    assert (result.outcome, result.differences[0].at) == ("failed", "schedule[2]")


# Reduction


def test_the_reduction_takes_out_all_that_is_not_needed() -> None:
    document = {
        "programs": {
            "p1": [
                {
                    "try": [{"do": "a1", "effect": {"gate": "g", "then": {"throw": "x"}}, "as": "r"}],
                    "catch": "e",
                },
                {"sleep": "a2", "seconds": 5},
            ],
            "p2": [{"return": {}}],
        },
        "schedule": [
            {"create": "i", "program": "p1"},
            {"create": "j", "program": "p2", "params": {"n": 1}},
            {"unbind": True},
            {"deleteResource": True},
            {"recreateResource": True},
            {"status": "i"},
        ],
    }

    def fails(candidate: dict[str, Any]) -> bool:
        words = [next(iter(entry)) for entry in candidate["schedule"]]
        whole = words.count("unbind") == words.count("recreateResource")
        return whole and "a1" in json.dumps(candidate["programs"]) and "status" in words and "create" in words

    smaller = reduction.reduce(document, fails, seconds=5.0)
    assert smaller["schedule"] == [{"create": "i", "program": "p1"}, {"status": "i"}]
    assert smaller["programs"] == {"p1": [{"do": "a1", "effect": {"value": {}}}]}


def test_the_reduction_is_bounded() -> None:
    asked: list[dict[str, Any]] = []
    document = {"programs": {}, "schedule": [{"settle": True}] * 8}

    def fails(candidate: dict[str, Any]) -> bool:
        asked.append(candidate)
        return False

    reduction.reduce(document, fails, 5.0, attempts=3)
    assert len(asked) == 3


# Coverage


def test_actions_are_counted_by_the_status_in_which_they_found_their_instance() -> None:
    connection = InProcess(ReferenceAdapter())
    stage = Stage(connection, greet(connection))
    stage.begin()
    program = Program(({"wait": "a1", "type": "go", "timeoutSeconds": 5},))
    stage.play({"create": "i", "program": stage.new_program(program)})
    stage.play({"sendEvent": "i", "type": "go"})
    stage.play({"status": "i"})
    counts = coverage.Coverage()
    counts.add(stage)
    stage.end()
    assert counts.pairs["Create", "unknown"] == counts.pairs["SendEvent", "waiting"] == 1
    assert counts.pairs["ReadStatus", "complete"] == 1
    assert counts.words == {"create": 1, "sendEvent": 1, "status": 1}
    assert counts.clauses["WFE-3"] > 0


def test_no_clause_within_reach_is_at_zero_in_continuous_integration(
    judge: Callable[[Refusal], None],
) -> None:
    """With the stand-in judge, and no longer than it takes."""
    clauses = catalogue.load().clauses
    judged = {name for name, clause in clauses.items() if clause.strength in ("required", "derived")}
    within = judged - reach.OUT_OF_REACH.keys()

    class Enquiry(Search):
        def finished(self, stage: Stage) -> None:
            super().finished(stage)
            if within <= self.coverage.clauses.keys():
                raise Enough

    enquiry = Enquiry(resolve("reference"), PROFILES["ci"])
    enquiry.run(FIXED_SEED)
    assert sorted(within - enquiry.coverage.clauses.keys()) == []


def test_what_is_out_of_reach_has_a_reason_and_is_a_clause() -> None:
    clauses = catalogue.load().clauses
    named = [*reach.IN_PROGRAMS.values(), *reach.IN_SCHEDULES.values(), *reach.ODDITIES.values()]
    named += [each for _, each in reach.SEEN] + [(clause,) for _, clause in reach.IN_TRACES]
    reached = {clause for group in named for clause in group}
    assert reached | reach.OUT_OF_REACH.keys() <= clauses.keys()
    assert not reached & reach.OUT_OF_REACH.keys()
    assert all(reach.OUT_OF_REACH.values())


def test_the_profiles_grow() -> None:
    quick, ci, soak = (PROFILES[name] for name in ("quick", "ci", "soak"))
    assert quick.examples < ci.examples < soak.examples
    assert ci.fixed_seed
