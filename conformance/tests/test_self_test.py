"""The self-test of the kit: what it counts as a kill, as a miss and as a false alarm, and how it ends."""

import json
import signal
import threading

import pytest
from click.testing import CliRunner
from fencepost_conformance import scenario as scenarios
from fencepost_conformance import selftest
from fencepost_conformance.cli import application, self_test
from fencepost_conformance.faults.table import TABLE, Fault
from fencepost_conformance.generate import profiles
from fencepost_conformance.generate.profiles import Profile
from fencepost_conformance.hosts import UnknownHost, is_ours, latitude, resolve
from fencepost_conformance.hosts.reference import ReferenceAdapter
from fencepost_conformance.inprocess import InProcess
from fencepost_conformance.report import kill_table, teeth
from fencepost_conformance.selftest import Fairness, Job, Kill, Scope, Teeth

DIRECTED = Scope("directed", 2, False, 0, 0)
FEW = scenarios.select(scenarios.shipped(), only=["WFE/*", "EVT/two-equal-events"], heavy=False)

SOUND = Fault("sound", "WFE-2", (), "Nothing is broken.", ReferenceAdapter)


def named(name):
    from fencepost_conformance import faults

    return faults.load()[name]


# Kills


def test_the_first_right_blame_is_a_kill():
    seen = selftest.kill(named("newest-first"), DIRECTED, FEW)
    assert (seen.passed, seen.by, seen.blamed) == (True, "directed", "WFE-8")
    assert seen.size == len(scenarios.load(seen.scenario).schedule)


def test_a_fault_that_nothing_catches_is_missed():
    seen = selftest.kill(SOUND, DIRECTED, FEW)
    assert (seen.passed, seen.by, seen.others) == (False, "", ())


def test_a_blame_of_another_clause_alone_is_a_miss_and_is_told():
    broken = named("newest-first")
    wrongly = Fault("wrongly", "DO-3", (), "Declared wrongly.", broken.make)
    seen = selftest.kill(wrongly, DIRECTED, FEW)
    assert not seen.passed
    assert any("WFE-8" in other for other in seen.others)


def test_a_clause_that_is_declared_as_equally_broken_may_be_blamed():
    broken = named("newest-first")
    declared = Fault("declared", "DO-3", ("WFE-8",), "Declared.", broken.make)
    assert selftest.kill(declared, DIRECTED, FEW).blamed == "WFE-8"


def test_scenarios_of_the_reference_say_nothing_of_a_host_with_other_choices():
    chosen = scenarios.select(scenarios.shipped(), only=["TRM/an-unproven-stop-is-rejected"])
    assert all(each.for_reference for each in chosen)
    elsewhere = Fault("elsewhere", "TRM-2", (), "", named("other-terminates-fail").make, elsewhere=True)
    assert selftest.kill(elsewhere, DIRECTED, chosen).others == ()


def test_scenarios_that_blame_the_clause_come_first():
    order = sorted(scenarios.shipped(), key=lambda each: selftest._promise(each, named("newest-first")))
    assert "WFE-8" in selftest.blamed_clauses(order[0])
    assert order[-1].heavy


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no interval timer")
def test_a_host_that_never_comes_back_is_interrupted():
    assert threading.current_thread() is threading.main_thread()

    class Endless(ReferenceAdapter):
        def settle(self):
            while True:
                pass

    bench = selftest.Bench(lambda: InProcess(Endless()), seconds=0.05)
    seen = bench.run(scenarios.load("EVT/two-equal-events"))
    assert seen.outcome == "errored"
    assert "did not come back" in seen.detail


# Fair hosts


def test_a_fair_host_qualifies():
    seen = selftest.fairness("latitude:final_rejection=fresh-context", DIRECTED, 0, FEW)
    assert (seen.passed, seen.alarms) == (True, ())


def test_any_check_that_does_not_pass_is_a_false_alarm():
    seen = selftest.fairness("fault:newest-first", DIRECTED, 0, FEW)
    assert not seen.passed
    assert seen.verdict == "not-qualified"
    assert any("WFE-8" in alarm for alarm in seen.alarms)


def test_costly_scenarios_exist_and_are_run_on_every_eighth_host(monkeypatch):
    ids = {each.id for each in scenarios.shipped()}
    assert set(selftest.COSTLY) <= ids
    ran = []
    monkeypatch.setattr(selftest.Bench, "run", lambda self, each: ran.append(each.id) or _passed(each))
    scope = Scope("heavy", 0, True, 0, 0)
    selftest.fairness("reference", scope, 1)
    assert not set(selftest.COSTLY) & set(ran)
    selftest.fairness("reference", scope, selftest.COSTLY_EVERY)
    assert set(selftest.COSTLY) <= set(ran)


def _passed(scenario):
    return selftest.CheckResult(scenario.id, scenario.title, scenario.clauses, "passed")


def test_every_other_choice_stands_alone_once_and_combinations_repeat_with_their_seed():
    alone = latitude.singles()
    assert len(alone) == len(set(alone)) == sum(len(f.choices) - 1 for f in latitude.open_fields().values())
    assert latitude.combinations(5, 1) == latitude.combinations(5, 1) != latitude.combinations(5, 2)
    for host in (*alone, *latitude.combinations(5, 1)):
        assert latitude.name_of(latitude.parse(host)) == host
        latitude.make(host)


def test_fair_hosts_are_given_generated_scenarios_of_their_own(monkeypatch):
    seeds = []

    def search(connect, profile, seed):
        seeds.append((seed, profile.examples))
        return type("Found", (), {"results": []})

    monkeypatch.setattr("fencepost_conformance.generate.search.search", search)
    scope = Scope("generating", 0, False, 0, 3)
    for place in (0, 1):
        assert selftest.fairness("latitude:wait_match=fresh-context", scope, place, FEW).passed
    assert seeds == [(selftest.SEED, 3), (selftest.SEED + 1, 3)]
    assert selftest.SCOPES["ci"].generated > 0


def test_a_generated_failure_on_a_fair_host_is_a_false_alarm():
    seen = selftest.fairness("fault:every-id-is-known", Scope("generating", 0, False, 0, 20), 0, FEW)
    assert any(alarm.startswith("generated/BND-4") for alarm in seen.alarms)


# Teeth


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(profiles, "PROFILES", {"quick": Profile("quick", 12, 12, 5.0)})


def test_generated_scenarios_alone_catch_a_fault_and_blame_its_clause(tiny):
    seen = selftest.teeth(named("every-id-is-known"), "quick")
    assert (seen.caught, seen.rightly, seen.blamed) == (True, True, "BND-4")
    assert 1 <= seen.scenarios <= 12
    assert seen.size == 1


def test_what_generated_scenarios_do_not_show_is_told_as_missed(tiny):
    seen = selftest.teeth(SOUND, "quick")
    assert (seen.caught, seen.rightly, seen.blamed, seen.named) == (False, False, "", ())
    assert seen.scenarios >= 12


def test_a_host_that_never_comes_back_from_generated_scenarios_is_told(tiny, monkeypatch):
    class Endless(ReferenceAdapter):
        def create(self, id, params):
            while True:
                pass

    monkeypatch.setattr(selftest, "SEARCH_SECONDS", 0.2)
    seen = selftest.teeth(Fault("endless", "WFE-2", (), "It hangs.", Endless), "quick")
    assert not seen.caught
    assert "did not come back" in seen.detail


TEETH = [
    Teeth("a", "WFE-2", (), "A.", "quick", "WFE-2", ("WFE-2", "WFE-8"), 3, 4),
    Teeth("b", "WFE-2", ("WFE-8",), "B.", "quick", "SLP-2", ("SLP-2", "WFE-8"), 5, 6),
    Teeth("c", "WFE-2", (), "C.", "quick", "SLP-2", ("SLP-2",), 5, 6),
    Teeth("d", "WFE-2", (), "D.", "quick", scenarios=60),
]


def test_the_figures_say_how_many_are_caught_and_how_well_they_are_blamed():
    found = teeth.document("quick", 7, TEETH, 1.0)
    assert [teeth.standing(each) for each in found["faults"]] == ["rightly", "named", "wrongly", "missed"]
    assert teeth.numbers(found) == (
        "generated scenarios alone (profile quick, seed 7) catch 3 of 4 faulty hosts; "
        "the clause that is blamed is right for 1, and named beside another for 1"
    )


def test_the_kill_table_may_have_a_column_for_them():
    found = teeth.document("quick", 7, TEETH, 1.0)
    made = kill_table.document("ci", [Kill("b", "WFE-2", (), "B."), Kill("new", "WFE-2", (), "N.")], [], 1.0)
    text = kill_table.page(made, "fencepost self-test", found)
    assert "| size | generated |" in text
    assert "| `b` | B. | WFE-2 | **missed** |  |  |  | SLP-2 (named) |" in text
    assert "| `new` | N. | WFE-2 | **missed** |  |  |  |  |" in text
    assert "catch 3 of 4 faulty hosts" in text
    assert (
        "generated"
        not in kill_table.page(made, "fencepost self-test").split("\n## ")[0].split("| fault |")[1]
    )


# Hosts by name


def test_faulty_and_fair_hosts_have_names():
    assert resolve("fault:newest-first")().adapter is not None
    assert resolve("latitude:clock=whole-seconds,stops=when-let-run")().adapter is not None
    assert is_ours("fault:newest-first")
    assert not is_ours("latitude:clock=whole-seconds")


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("fault:nothing", "no such faulty host"),
        ("latitude:nothing=1", "no such open point"),
        ("latitude:clock=slow", "clock is one of finer, whole-seconds"),
        ("fault:", "no such Host"),
    ],
)
def test_a_name_that_names_nothing_is_refused_with_what_to_do(host, said):
    with pytest.raises(UnknownHost, match=said):
        resolve(host)


# The command


@pytest.fixture
def command(monkeypatch):
    def run(jobs, *arguments):
        monkeypatch.setattr(self_test, "chosen", lambda *_: iter(jobs))
        monkeypatch.setattr(selftest, "shipped", lambda: FEW)
        monkeypatch.setitem(self_test.SCOPES, "quick", DIRECTED)
        return CliRunner().invoke(application, ["self-test", "--profile", "quick", "--jobs", "1", *arguments])

    return run


def test_it_ends_well_when_all_are_caught_and_nobody_is_accused(command, tmp_path):
    jobs = [Job("fault", "newest-first"), Job("latitude", "latitude:wait_match=fresh-context")]
    file, page = tmp_path / "kills.json", tmp_path / "kills.md"
    ran = command(jobs, "--json", str(file), "--page", str(page))
    assert ran.exit_code == 0, ran.output
    assert "1 faulty hosts for 1 clauses: 1 caught by directed scenarios" in ran.output
    found = json.loads(file.read_text())
    assert found["faults"][0]["fault"] == "newest-first"
    assert [each["passed"] for each in found["latitudes"]] == [True]
    assert "| `newest-first` |" in page.read_text()


def test_a_missed_fault_ends_it_badly(command, monkeypatch):
    monkeypatch.setitem(TABLE, "sound", SOUND)
    ran = command([Job("fault", "sound")])
    assert ran.exit_code == 1
    assert "MISSED fault:sound (WFE-2): Nothing is broken." in ran.output


def test_a_false_alarm_ends_it_badly(command):
    ran = command([Job("latitude", "fault:newest-first")])
    assert ran.exit_code == 1
    assert "FALSE ALARM fault:newest-first" in ran.output


def test_only_generated_measures_and_ends_well(command, tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(TABLE, "sound", SOUND)
    jobs = [Job("fault", "every-id-is-known"), Job("fault", "sound")]
    file, page = tmp_path / "teeth.json", tmp_path / "kills.md"
    ran = command(jobs, "--only", "generated", "--json", str(file))
    assert ran.exit_code == 0, ran.output
    assert "catch 1 of 2 faulty hosts" in ran.output
    assert [each["caught"] for each in json.loads(file.read_text())["faults"]] == [True, False]
    ran = command([Job("fault", "every-id-is-known")], "--page", str(page), "--teeth", str(file))
    assert "BND-4 (rightly)" in page.read_text()


@pytest.mark.parametrize("more", [["--latitude", "*"], ["--page", "x.md"]])
def test_only_generated_takes_no_fair_hosts_and_writes_no_page(command, more):
    ran = command([], "--only", "generated", *more)
    assert ran.exit_code == 2
    assert "--only generated takes no" in ran.output


def test_a_file_that_is_no_teeth_is_trouble(command, tmp_path):
    (tmp_path / "no.json").write_text("{}")
    ran = command([], "--page", str(tmp_path / "x.md"), "--teeth", str(tmp_path / "no.json"))
    assert ran.exit_code == 2
    assert "is not what --only generated --json writes" in ran.output


def test_globs_choose_and_one_that_matches_nothing_is_trouble():
    scope = Scope("two", 2, False, 0, 0)
    faults = [each.name for each in self_test.chosen(scope, "WFE-8", None, 1)]
    assert "newest-first" in faults
    assert all(each.kind == "latitude" for each in self_test.chosen(scope, None, "clock=*", 1))
    assert {each.kind for each in self_test.chosen(scope, None, None, 1)} == {"fault", "latitude"}
    ran = CliRunner().invoke(application, ["self-test", "--fault", "nothing"])
    assert ran.exit_code == 2
    assert "no such faulty host" in ran.output


def test_lists_of_faults_and_latitudes():
    for what, key in (("faults", "host"), ("latitudes", "field")):
        ran = CliRunner().invoke(application, ["list", what, "--json"])
        assert ran.exit_code == 0
        assert all(each[key] for each in json.loads(ran.output))


def test_a_page_shows_misses_and_alarms():
    kills = [Kill("a", "WFE-2", (), "One | two.")]
    made = kill_table.document("ci", kills, [Fairness("latitude:x", "incomplete", ("WFE/x failed",))], 1.0)
    text = kill_table.page(made, "fencepost self-test")
    assert "| `a` | One \\| two. | WFE-2 | **missed** |" in text
    assert "- `latitude:x`: WFE/x failed" in text
