"""The judge: what it admits, what it says when it does not, and what it takes from the machine."""

import inspect
import re
from dataclasses import fields
from pathlib import Path

import fencepost.machine
import pytest
from fencepost import admission
from fencepost.contexts import execution
from fencepost.machine.latitude import Latitude
from fencepost_conformance.adapter import Answer, Handshake
from fencepost_conformance.hosts import latitude, reference
from fencepost_conformance.inprocess import InProcess
from fencepost_conformance.judge import Admitted, NotAdmitted, judge
from fencepost_conformance.judge.code import GO, Programme
from fencepost_conformance.judge.latitudes import ALWAYS, ASIDE, CHOICES, HOST, STANCE, Choices, stances
from fencepost_conformance.observations import Observation
from fencepost_conformance.run import Run
from fencepost_conformance.runner import greet
from fencepost_conformance.scenario import Scenario, load, shipped

REAL = Handshake("real", "1", frozenset(), 30)
EVERY = 7  # of the shipped scenarios one in so many; all of them are tried on every fair host elsewhere
LOOPS = frozenset({"worked/12-step-limit", "EVT/count-bound"})
SOME = [each for each in shipped() if not each.heavy and each.id not in LOOPS][::EVERY]


def judged(scenario, adapter, tolerance=None):
    connection = InProcess(adapter)
    run = Run(connection, greet(connection), scenario)
    run.play()
    return judge(scenario, run.observations, run.handshake, tolerance_milliseconds=tolerance)


@pytest.mark.parametrize("scenario", SOME, ids=lambda scenario: scenario.id)
def test_the_reference_is_admitted(scenario):
    assert judged(scenario, reference.make()).admitted


@pytest.mark.parametrize(
    ("host", "scenario"),
    [
        ("wait_match=fresh-context", "worked/05-three-events-two-waits-any"),
        ("lost_attempt=counted", "worked/11-killed-around-the-commit-any"),
        ("awake_status=running,retry_pending_status=queued", "worked/02-exponential-retries-any"),
        ("overlapping_contexts=after-stop", "CTX/a-new-context-beside-a-frozen-one"),
        ("final_rejection=fresh-context,extra_contexts=more", "worked/03-recorded-failure-replays-any"),
        ("clock=whole-seconds", "TIM/a-fraction-after-the-deadline"),
        ("two_replays=mismatch,replay_beside_new=mismatch", "STP/overlapping-replays"),
        ("invalid_result=type-error", "DOC/results-with-refused-values"),
        ("send_while_ending=held-back", "TRM/an-event-in-the-window"),
        ("stops=when-let-run", "TRM/concurrent-calls"),
        ("parked_at_restart=runs-again", "SLP/restart-keeps-the-deadline"),
    ],
)
def test_fair_hosts_are_admitted(host, scenario):
    verdict = judged(load(scenario), latitude.make(host))
    assert verdict.admitted, str(verdict)


def test_a_refusal_names_the_observation_the_possible_states_and_clauses():
    seen = [Observation(0, "create", Answer("i")), Observation(2, "status", Answer({"status": "complete"}))]
    schedule = [{"create": "i", "program": "main"}, {"settle": True}, {"status": "i"}]
    verdict = judge(made([{"sleep": "s", "seconds": 9}], *schedule), seen, REAL)
    assert isinstance(verdict, NotAdmitted)
    assert (verdict.index, verdict.word, verdict.seen) == (2, "status", {"status": "complete"})
    assert verdict.possible == ({"status": "sleeping"},)
    assert verdict.states == ("i: parked; 0 steps finished; sleep s pending until 9 s",)
    assert "SLP-2" in verdict.clauses[:3]
    assert "schedule[2] status: saw {'status': 'complete'}" in str(verdict)


def test_what_the_judge_cannot_say_is_admitted_with_a_note():
    call = {"resource": "DELETE", "on": "deployment"}
    seen = [Observation(0, "resource", Answer({"status": 202}))]
    verdict = judge(made([], call), seen, REAL)
    assert isinstance(verdict, Admitted)
    assert verdict.notes == (
        "not judged from schedule[0] on: DELETE of deployment by hand may change what instances do",
    )


# A real clock: late is always admitted, early never


def made(program, *schedule):
    document = {"title": "t", "clauses": ["SLP-2"], "programs": {"main": program}}
    return Scenario("t", {**document, "schedule": list(schedule)})


def at(index, word, answer, seconds):
    return Observation(index, word, answer, seconds, seconds + 0.01)


def done(**document):
    return Answer({"status": "complete", **document})


@pytest.mark.parametrize(
    ("seconds", "status", "admitted"),
    [(0.9, "complete", False), (1.0, "complete", True), (9.0, "complete", True), (9.0, "sleeping", True)],
)
def test_under_a_real_clock_a_sleep_may_be_late_and_not_early(seconds, status, admitted):
    schedule = [{"create": "i", "program": "main"}, {"status": "i"}, {"status": "i"}]
    scenario = made([{"sleep": "s", "seconds": 1}], *schedule)
    seen = [
        at(0, "create", Answer("i"), 0),
        at(1, "status", Answer({"status": "sleeping"}), 0.05),
        at(2, "status", Answer({"status": status}), seconds),
    ]
    assert judge(scenario, seen, REAL, tolerance_milliseconds=20).admitted is admitted


@pytest.mark.parametrize(("seconds", "admitted"), [(0.5, True), (1.0, True), (3.0, False)])
def test_under_a_real_clock_an_event_after_the_deadline_does_not_win(seconds, admitted):
    schedule = [{"create": "i", "program": "main"}, {"status": "i"}]
    schedule += [{"sendEvent": "i", "type": "go", "payload": {"n": 1}}, {"status": "i"}]
    program = [{"wait": "w", "type": "go", "timeoutSeconds": 1, "as": "w"}, {"return": {"$": "w"}}]
    seen = [
        at(0, "create", Answer("i"), 0),
        at(1, "status", Answer({"status": "waiting"}), 0.05),
        at(2, "sendEvent", Answer(None), seconds),
        at(3, "status", done(output={"n": 1}), seconds + 0.1),
    ]
    assert judge(made(program, *schedule), seen, REAL, tolerance_milliseconds=20).admitted is admitted


# Latitudes


def test_every_field_is_read_as_a_decision_or_said_to_be_the_hosts():
    folder = Path(inspect.getfile(fencepost.machine)).parent
    sources = [path.read_text() for path in folder.glob("*.py")]
    sources += [inspect.getsource(execution), inspect.getsource(admission)]
    read = set(re.findall(r"latitude\.([a-z_]+)", "\n".join(sources)))
    every = {each.name for each in fields(Latitude)}
    assert every - read == set(HOST)
    assert {*ASIDE, *STANCE, *ALWAYS} <= read & every


def test_explore_goes_every_way_once_and_the_references_first():
    choices = Choices()

    def function():
        if choices.wait_match == "same-context":
            return "same", choices.lost_attempt, choices.lost_attempt
        return ("fresh",)

    assert list(choices.explore(function)) == [
        ("same", "not-counted", "not-counted"),
        ("same", "counted", "counted"),
        ("fresh",),
    ]


def test_a_field_set_aside_is_no_decision():
    choices = Choices()
    choices.aside = {"wait_match": "fresh-context"}
    assert list(choices.explore(lambda: choices.wait_match)) == ["fresh-context"]
    with pytest.raises(AttributeError):
        _ = choices.no_such_field


def test_without_traits_there_is_one_stance_the_references():
    assert list(stances(frozenset())) == [{field: CHOICES[field][0] for field in STANCE}]


# Code


class Told:
    """Answers as a script says, and remembers what was passed."""

    def __init__(self, *inputs):
        self.inputs, self.marks = list(inputs), []

    def went(self, passed):
        self.marks += passed.marks

    def answer(self, node):
        return self.inputs.pop(0)


def test_code_is_run_once_for_each_edge_and_known_edges_are_walked():
    program = [{"mark": "m"}, {"do": "a", "effect": {"value": {"n": 1}}}, {"mark": "n"}]
    params = {"program": program}
    from fencepost import documents
    from fencepost.machine.replies import Recorded, Run
    from fencepost.machine.state import Succeeded

    programme = Programme("i", "v1", documents.encode(params), True, dict.fromkeys(CHOICES, "first"))
    first = Told(("reply", Run(1)))
    rest = programme.advance(programme.root, GO, first)
    assert (rest.request.starts, first.marks) == (("a",), ["m"])
    begun = programme.advance(rest, ("start", "a", 1), Told())
    recorded = Recorded(Succeeded(documents.encode({"n": 1})))
    second = Told()
    settled = programme.advance(begun, ("deliver", recorded), second)
    assert (type(settled.request.proposal).__name__, second.marks) == ("ProposeSettle", ["n"])
    replayed = Told(("reply", recorded))
    assert programme.advance(programme.root, GO, replayed) is settled  # where it stands is told by outcomes
    assert replayed.marks == ["m", "n"]
    programme.close()
