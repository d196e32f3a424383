"""Which runs on fair hosts are taken for the same one, and that what a host reads is noted."""

import pytest
from fencepost_conformance import scenario as scenarios
from fencepost_conformance import selftest
from fencepost_conformance.alike import Runs
from fencepost_conformance.hosts import latitude
from fencepost_conformance.inprocess import InProcess
from fencepost_conformance.results import CheckResult

SCENARIO = scenarios.load("EVT/two-equal-events")
SLEEPS = scenarios.load("SLP/sleep-parks-until-its-deadline")


def passed(scenario, outcome="passed"):
    return CheckResult(scenario.id, scenario.title, scenario.clauses, outcome)


def reads(names, result, made):
    """A run that reads these open points."""
    read = set()

    def run():
        made.append(result.outcome)
        read.update(names)
        return result

    return read, run


def test_a_run_stands_for_hosts_that_agree_in_what_it_has_read():
    runs, made = Runs(), []
    read, run = reads({"clock"}, passed(SCENARIO), made)
    for choices in ({"clock": "finer", "stops": "a"}, {"clock": "finer", "stops": "b"}):
        assert runs.of(SCENARIO, choices, read, run).outcome == "passed"
    assert len(made) == 1
    runs.of(SCENARIO, {"clock": "whole-seconds", "stops": "a"}, read, run)
    assert len(made) == 2


def test_a_run_that_did_not_pass_is_made_again_for_every_host():
    runs, made = Runs(), []
    read, run = reads({"clock"}, passed(SCENARIO, "failed"), made)
    for _ in range(2):
        assert runs.of(SCENARIO, {"clock": "finer"}, read, run).outcome == "failed"
    assert len(made) == 2


def test_a_run_says_nothing_of_another_scenario_with_its_id():
    runs, made = Runs(), []
    read, run = reads(set(), passed(SCENARIO), made)
    runs.of(SCENARIO, {}, read, run)
    runs.of(scenarios.Scenario(SCENARIO.id, {**SCENARIO.document, "title": "Another."}), {}, read, run)
    assert len(made) == 2


@pytest.mark.parametrize(
    ("scenario", "field"),
    [(SCENARIO, "wait_match"), (SLEEPS, "sleep_at_deadline")],
    ids=lambda each: getattr(each, "id", each),
)
def test_what_a_scenario_reads_is_noted_and_only_that(scenario, field):
    read = set()
    bench = selftest.Bench(lambda: InProcess(latitude.make("error_message=present", read)))
    assert bench.run(scenario).outcome == "passed"
    assert {field, "stops", "changed_spec"} <= read <= set(latitude.open_fields())
    assert not read & {"unfit_root", "bad_payload", "while_deleting"}


def test_the_choices_of_a_fair_host_are_told_for_every_open_point():
    chosen = latitude.choices("stops=when-let-run")
    assert chosen.keys() == latitude.open_fields().keys()
    assert (chosen["stops"], chosen["unprovable_terminate"]) == ("when-let-run", "unanswered")
    assert chosen["clock"] == "finer"


def test_fair_hosts_that_share_runs_come_out_as_they_would_alone(monkeypatch):
    few = scenarios.select(scenarios.shipped(), only=["WFE/*", "SLP/*", "EVT/two-equal-events"], heavy=False)
    made = []
    run = selftest.Bench.run
    monkeypatch.setattr(selftest.Bench, "run", lambda self, each: made.append(each.id) or run(self, each))
    scope, runs = selftest.Scope("directed", 0, False, 0, 0), Runs()
    hosts = ["final_rejection=fresh-context", "while_deleting=refuses", "wait_match=fresh-context"]
    for host in hosts:
        assert selftest.fairness(f"latitude:{host}", scope, 0, few, runs).passed
    fair = [each for each in few if not each.for_reference]
    assert len(fair) < len(made) < 2 * len(fair)
