"""The runner on adapters that answer from a script: no Host is needed to see what it makes of answers."""

from concurrent.futures import Future

import pytest
from fencepost import documents
from fencepost_conformance import hosts
from fencepost_conformance.adapter import (
    ABSENT,
    INSTRUMENTS,
    PROTOCOL,
    AdapterFault,
    HostError,
    parse_handshake,
)
from fencepost_conformance.inprocess import InProcess
from fencepost_conformance.runner import (
    ENOUGH_BREAKDOWNS,
    ENTRIES,
    missing_instruments,
    run_many,
    run_scenario,
)
from fencepost_conformance.scenario import Scenario


class Scripted:
    """Offers every instrument, records calls, and answers from `answers`: values, errors or functions."""

    def __init__(self, instruments=tuple(INSTRUMENTS), **answers):
        self.instruments = list(instruments)
        self.answers = answers
        self.calls = []

    def handshake(self, hello):
        host = {"name": "scripted", "version": "1"}
        return {"protocol": PROTOCOL, "host": host, "instruments": self.instruments, "leaseSeconds": 30}

    def __getattr__(self, op):
        if op.startswith("_") or op == "close":
            raise AttributeError(op)

        def method(*arguments, **named):
            self.calls.append((op, *arguments, *named.values()))
            answer = self.answers.get(op)
            if isinstance(answer, list):
                answer = answer.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer(*arguments, **named) if callable(answer) else answer

        return method

    def called(self, op):
        return [call[1:] for call in self.calls if call[0] == op]


def scenario(*schedule, clauses=("ONE", "TWO"), programs=None, **more):
    document = {"title": "t", "clauses": list(clauses), "programs": programs or {"main": []}, **more}
    return Scenario("s", {**document, "schedule": list(schedule)})


def run(*schedule, adapter=None, generated=False, **answers):
    adapter = adapter or Scripted(**{"create": lambda id, params: id, **answers})
    return run_scenario(InProcess(adapter), scenario(*schedule), generated=generated)


def status(expect, answer, **more):
    return run({"status": "i", "expect": expect, **more}, status=answer)


OPEN_GATE = {"status": "complete", "output": {"n": 1}}


@pytest.mark.parametrize(
    ("expect", "answer"),
    [
        ({"status": "running"}, {"status": "running", "extra": 1}),
        ({"status": ["queued", "running"]}, {"status": "running"}),
        (
            {"status": "complete", "output": {"n": 1, "m": [{}]}},
            {"status": "complete", "output": {"m": [{}], "n": 1.0}},
        ),
        (
            {"status": "complete", "output": {"s": {"$repeat": ["x", 3]}}},
            {"status": "complete", "output": {"s": "xxx"}},
        ),
        (
            {"status": "errored", "error": {"reason": "run_threw"}},
            {"status": "errored", "error": {"reason": "run_threw", "message": "m"}},
        ),
        ({"any": True}, {"status": "nonsense"}),
        ({"any": True}, HostError("x")),
        ({"ok": True}, {"status": "running"}),
        ({"error": "unknown_instance"}, HostError("unknown_instance", "m")),
        ({"error": True}, HostError("anything")),
        ({"error": ["a", "b"]}, HostError("b")),
        ([{"error": "a"}, {"status": "running"}], {"status": "running"}),
    ],
)
def test_an_expectation_holds(expect, answer):
    assert status(expect, answer).outcome == "passed"


@pytest.mark.parametrize(
    ("expect", "answer"),
    [
        ({"status": "running"}, {"status": "queued"}),
        ({"status": ["queued", "running"]}, {"status": "sleeping"}),
        ({"status": "complete"}, OPEN_GATE),
        ({"status": "complete", "output": {"n": 1}}, {"status": "complete"}),
        ({"status": "complete", "output": {"n": 1}}, {"status": "complete", "output": {"n": True}}),
        ({"status": "complete", "output": {"n": [1]}}, {"status": "complete", "output": {"n": [1, 1]}}),
        ({"status": "complete"}, {"status": "complete", "error": {"reason": "run_threw"}}),
        ({"status": "errored", "error": {"reason": "run_threw"}}, {"status": "errored"}),
        (
            {"status": "errored", "error": {"reason": "run_threw"}},
            {"status": "errored", "error": {"reason": "x"}},
        ),
        ({"status": "running"}, HostError("unknown_instance")),
        ({"error": "unknown_instance"}, HostError("another")),
        ({"error": True}, {"status": "running"}),
        ({"ok": True}, HostError("x")),
        ([{"error": "a"}, {"status": "queued"}], {"status": "running"}),
        (None, HostError("x")),
    ],
)
def test_an_expectation_does_not_hold(expect, answer):
    entry = {"status": "i"} if expect is None else {"status": "i", "expect": expect}
    result = run(entry, status=answer)
    assert result.outcome == "failed"
    (difference,) = result.differences
    assert (difference.at, difference.clause) == ("schedule[0]", "ONE")
    assert difference.message


def test_every_difference_is_collected():
    wrong = {"status": "i", "expect": {"status": "queued"}}
    result = run(wrong, {"settle": True}, wrong, status={"status": "running"})
    assert [difference.at for difference in result.differences] == ["schedule[0]", "schedule[2]"]
    assert result.differences[0].expected == {"status": "queued"}
    assert result.differences[0].seen == {"status": "running"}


@pytest.mark.parametrize(
    ("entry", "blamed"),
    [
        ({"expect": {"status": "queued", "clause": "TWO"}}, "TWO"),
        ({"expect": {"status": "queued", "clause": "TWO"}, "clause": "THREE"}, "THREE"),
        ({"expect": [{"status": "queued"}, {"error": "x", "clause": "TWO"}]}, "TWO"),
        ({"expect": {"status": "queued"}}, "ONE"),
    ],
)
def test_the_clause_that_is_named_is_blamed(entry, blamed):
    assert run({"status": "i", **entry}, status={"status": "running"}).differences[0].clause == blamed


def test_the_choice_that_was_seen_is_recorded_with_its_clause():
    expect = [{"status": "queued", "choice": "late"}, {"status": "running", "choice": "now", "of": "TWO"}]
    assert status(expect, {"status": "running"}).choices == {"TWO": "now"}
    assert status(expect, {"status": "queued"}).choices == {"ONE": "late"}
    assert status(expect, {"status": "waiting"}).choices == {}


def test_counts_are_held_against_numbers_and_ranges():
    def create(id, params):
        counted.update({"a": 2})
        return id

    adapter = Scripted(create=create)
    counted = {}
    adapter.answers["begin"] = lambda setup: counted.clear() or setattr(setup.journal, "effects", counted)
    inside = [
        {"effects": {"a": 2, "b": 0}},
        {"effects": {"a": {"atLeast": 1}}},
        {"effects": {"a": {"atMost": 2}}},
    ]
    assert run({"create": "i", "program": "main"}, *inside, adapter=adapter).outcome == "passed"
    outside = [
        {"effects": {"a": 1}, "clause": "TWO"},
        {"effects": {"a": {"atLeast": 3}}},
        {"marks": {"m": 1}},
    ]
    result = run({"create": "i", "program": "main"}, *outside, adapter=adapter)
    assert [difference.clause for difference in result.differences] == ["TWO", "ONE", "ONE"]
    assert result.differences[0].seen == {"a": 2}


def test_the_id_that_the_host_issued_is_named_later():
    adapter = Scripted(create="issued-1", status={"status": "running"})
    result = run(
        {"create": None, "program": "main", "as": "x"},
        {"status": {"$": "x"}, "expect": {"status": "running"}},
        {"kill": {"$": "x"}, "at": "now"},
        {"runs": {"${x}": 0}},
        adapter=adapter,
    )
    assert result.outcome == "passed"
    assert adapter.called("create")[0][0] is ABSENT
    assert adapter.called("status") == [("issued-1",)]
    assert adapter.called("kill") == [("issued-1", "now")]


def test_params_carry_the_program_beside_the_document():
    adapter = Scripted(create=lambda id, params: id)
    program = [{"return": {"$": "x"}}]
    creates = [
        {"create": "a", "program": "main"},
        {"create": "b", "program": "main", "params": {"k": {"$repeat": ["y", 2]}}},
        {"create": "c", "program": "main", "params": {"$oddity": "ownProto"}},
        {"create": "d", "program": "main", "params": {"$oddity": "arrayRoot"}},
        {"create": "e", "program": "main", "params": {"$size": 300}},
        {"create": "f", "program": "main", "params": {"$literal": {"$": "x"}}},
        {"create": "g"},
    ]
    made = scenario(*creates, programs={"main": program})
    assert run_scenario(InProcess(adapter), made).outcome == "passed"
    params = dict(adapter.called("create"))
    assert params["a"] == {"program": program}
    assert params["b"] == {"program": program, "k": "yy"}
    assert params["c"] == {"program": program, "oddity": {"__proto__": {"a": 1}}}
    assert params["d"] == [1]
    assert len(documents.encode(params["e"])) == 300
    assert params["f"] == {"program": program, "$": "x"}
    assert params["g"] is ABSENT


def test_params_too_small_for_their_program_and_unknown_programs_are_faults_of_the_scenario():
    for wrong in ({"program": "main", "params": {"$size": 5}}, {"program": "other"}):
        result = run({"create": "i", **wrong})
        assert result.outcome == "errored"
        assert "give more" in result.detail or "no program" in result.detail


def test_sends_are_repeated_and_payloads_are_built():
    adapter = Scripted()
    run(
        {"sendEvent": "i", "type": "t", "payload": {"n": 1}, "times": 3},
        {"sendEvent": "i", "type": "t"},
        adapter=adapter,
    )
    assert adapter.called("send_event") == [("i", "t", {"n": 1})] * 3 + [("i", "t", ABSENT)]


def test_a_call_that_needs_the_host_to_run_is_settled():
    future = Future()
    adapter = Scripted(terminate=lambda id: future, settle=lambda: future.set_result(None))
    assert run({"terminate": "i"}, adapter=adapter).outcome == "passed"


def test_a_call_that_never_ends_is_a_failed_check():
    result = run({"terminate": "i"}, terminate=lambda id: Future())
    assert (result.outcome, result.differences[0].seen) == ("failed", None)


def test_a_call_in_flight_is_pending_and_is_awaited_later():
    future = Future()
    adapter = Scripted(
        terminate=lambda id: future, release=None, advance=lambda ms: future.set_exception(HostError("x"))
    )
    schedule = [
        {"start": {"terminate": "i"}, "as": "c"},
        {"settle": True},
        {"pending": "c"},
        {"advance": 1},
        {"await": "c", "expect": {"error": "x"}},
    ]
    assert run(*schedule, adapter=adapter).outcome == "passed"


def test_a_call_that_ended_too_early_or_not_at_all_is_a_difference():
    early = run({"start": {"terminate": "i"}, "as": "c"}, {"pending": "c", "clause": "TWO"}, {"await": "c"})
    assert [(each.clause, each.at) for each in early.differences] == [("TWO", "schedule[1]")]
    never = run(
        {"start": {"terminate": "i"}, "as": "c"},
        {"await": "c", "expect": {"any": True}},
        terminate=lambda id: Future(),
    )
    assert never.differences[0].at == "schedule[1]"


def test_an_unknown_call_in_flight_is_a_fault_of_the_scenario():
    assert run({"pending": "c"}).outcome == "errored"


def test_instruments_get_their_arguments():
    adapter = Scripted()
    schedule = [
        {"advance": 59.999},
        {"recover": True},
        {"pause": "i", "at": "effect-start:a"},
        {"resume": "i"},
        {"stuck": "i"},
        {"unstuck": "i"},
        {"backend": "down"},
        {"backend": "up"},
        {"restart": True},
        {"holdWakes": True},
        {"deploy": {"v2": 10000}},
        {"dropResponse": {"create": "k", "program": "main"}},
        {"release": "g"},
    ]
    assert run(*schedule, adapter=adapter).outcome == "passed"
    plain = [call for call in adapter.calls if call[0] not in ("begin", "end", "drop_response")]
    assert plain == [
        ("advance", 59999),
        ("advance", 31000),
        ("settle",),
        ("pause", "i", "effect-start:a"),
        ("resume", "i"),
        ("stuck", "i"),
        ("unstuck", "i"),
        ("backend", False),
        ("backend", True),
        ("restart",),
        ("hold_wakes", True),
        ("deploy", {"v2": 10000}),
    ]
    ((call,),) = adapter.called("drop_response")
    assert call.op == "create"
    call.perform(adapter)
    assert adapter.called("create") == [("k", {"program": []})]


def test_begin_says_what_the_scenario_is_about():
    seen = []
    adapter = Scripted(begin=seen.append)
    program = {"main": [{"call": "terminate"}]}
    both = {"v1": {"main": "main"}, "v2": {"main": "main"}}
    run_scenario(
        InProcess(adapter), scenario({"settle": True}, programs=program, versions=both, deployed="v2")
    )
    (setup,) = seen
    assert set(setup.versions) == {"v1", "v2"}
    assert setup.deployed == {"v2": 10000}
    assert setup.binding
    assert setup.uses == {"clock", "binding", "versions"}
    assert setup.versions["v1"]()["Probe"] is not setup.versions["v1"]()["Probe"]


def test_a_missing_instrument_leaves_the_scenario_unmeasured():
    adapter = Scripted(instruments=["clock"])
    result = run({"kill": "i", "at": "now"}, {"effects": {"a": 1}}, {"settle": True}, adapter=adapter)
    assert (result.outcome, result.missing) == ("unmeasured", ("journal", "kill"))
    assert adapter.calls == []


def test_gates_attempts_and_several_versions_need_instruments():
    gate = {"main": [{"do": "a", "effect": {"gate": "g"}}]}
    bare = parse_handshake(Scripted(instruments=[]).handshake({}))
    assert missing_instruments(scenario(programs=gate), bare) == ("journal",)
    assert missing_instruments(scenario(versions={"v1": {}, "v2": {}}), bare) == ("versions",)


def test_a_trap_that_never_sprung_makes_a_directed_scenario_errored():
    unsprung = {"unsprung": ["kill i at committed:a"]}
    result = run({"settle": True}, end=unsprung)
    assert (result.outcome, result.detail) == ("errored", "a trap never sprung: kill i at committed:a")
    assert run({"settle": True}, end=unsprung, generated=True).outcome == "passed"
    failed = run({"status": "i", "expect": {"status": "queued"}}, status={"status": "running"}, end=unsprung)
    assert failed.outcome == "failed"


FAULTS = [
    ({"status": lambda id: 1 // 0}, "status raised ZeroDivisionError"),
    ({"status": 5}, "status returned 5; return the status answer"),
    ({"settle": HostError("no", "why")}, "settle was rejected with no: why"),
    ({"begin": RuntimeError("no\nmore")}, "begin raised RuntimeError: no more"),
    ({"end": RuntimeError("no")}, "end raised RuntimeError"),
    ({"settle": lambda: Future()}, "settle was not answered"),
]


@pytest.mark.parametrize(("answers", "text"), FAULTS)
def test_a_fault_of_the_adapter_is_an_error_and_no_failure(answers, text):
    connection = InProcess(Scripted(**{"status": {"status": "running"}, **answers}))
    schedule = [{"settle": True}, {"status": "i", "expect": {"status": "running"}}]
    result = run_scenario(connection, scenario(*schedule))
    assert result.outcome == "errored"
    assert text in result.detail
    assert "\n" not in result.detail
    assert connection.broken


def test_a_failed_check_beats_an_errored_one():
    wrong = {"status": "i", "expect": {"status": "queued"}}
    result = run(wrong, {"settle": True}, wrong, status={"status": "running"}, settle=RuntimeError("no"))
    assert result.outcome == "failed"
    assert len(result.differences) == 1
    assert "settle raised" in result.detail


def test_a_missing_method_and_an_async_one_are_told():
    class Bare:
        handshake = Scripted().handshake

        def begin(self, setup):
            pass

        async def settle(self):
            raise AssertionError

    assert "async" in run({"settle": True}, adapter=Bare()).detail
    assert "no method advance" in run({"advance": 1}, adapter=Bare()).detail


HANDSHAKES = [
    (None, "return protocol, host and instruments"),
    ({"protocol": "other"}, "this kit speaks"),
    ({"protocol": PROTOCOL, "host": {"name": "x"}}, '"version": text'),
    ({"protocol": PROTOCOL, "host": {"name": "x", "version": "1"}, "instruments": ["clocks"]}, "clocks"),
    ({"protocol": PROTOCOL, "host": {"name": "x", "version": "1"}, "instruments": "clock"}, "give a list"),
    ({"protocol": PROTOCOL, "host": {"name": "x", "version": "1"}, "leaseSeconds": -1}, "leaseSeconds"),
    (RuntimeError("no"), "handshake raised RuntimeError: no"),
]


class Greeting(Scripted):
    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def handshake(self, hello):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(("answer", "text"), HANDSHAKES)
def test_a_wrong_handshake_is_told_in_one_line(answer, text):
    result = run({"settle": True}, adapter=Greeting(answer))
    assert result.outcome == "errored"
    assert text in result.detail
    with pytest.raises(AdapterFault, match=r"."):
        run_many(lambda: InProcess(Greeting(answer)), [scenario()])


def test_many_scenarios_go_on_with_a_new_connection_after_a_fault():
    made, seen = [], []

    def connect():
        made.append(Scripted(status=RuntimeError("no")))
        return InProcess(made[-1])

    scenarios = [scenario({"settle": True}), scenario({"status": "i"}), scenario({"settle": True})]
    results = run_many(connect, scenarios, seen.append)
    assert [result.outcome for result in results] == ["passed", "errored", "passed"]
    assert seen == results
    assert len(made) == 2


def test_an_adapter_that_only_breaks_down_is_left_alone():
    made = []

    def connect():
        made.append(Scripted(begin=RuntimeError("no"), instruments=[]))
        return InProcess(made[-1])

    unmeasured, broken = scenario({"restart": True}), scenario({"status": "i"})
    results = run_many(connect, [unmeasured, broken] * ENOUGH_BREAKDOWNS + [broken])
    assert [result.outcome for result in results].count("errored") == ENOUGH_BREAKDOWNS + 1
    assert results[1].detail == "begin raised RuntimeError: no"
    assert results[-1].detail == "not run: the adapter broke down 5 times in a row before it"
    assert sum(len(each.called("begin")) for each in made) == ENOUGH_BREAKDOWNS


def test_every_connection_is_closed():
    closed = []

    class Closing(Scripted):
        def close(self):
            closed.append(self)

    def interrupted(result):
        raise KeyboardInterrupt

    run_many(lambda: InProcess(Closing()), [scenario()])
    with pytest.raises(KeyboardInterrupt):
        run_many(lambda: InProcess(Closing()), [scenario()], interrupted)
    assert len(closed) == 2


def test_every_entry_of_an_instrument_is_in_the_table():
    words = {word for instrument in INSTRUMENTS.values() for word in instrument.words}
    assert words - ENTRIES.keys() == {"call", "gate", "attempts", "ticking"}


@pytest.mark.parametrize("host", ["nobody", "python:", "python:a", "python:a:", "python:a b:c"])
def test_an_unknown_host_is_told_what_to_give(host):
    with pytest.raises(hosts.UnknownHost, match="python:MODULE:FACTORY"):
        hosts.resolve(host)


def test_the_reference_is_a_host():
    connection = hosts.resolve("reference")()
    assert (
        run_scenario(connection, scenario({"create": "i", "program": "main"}, {"settle": True})).outcome
        == "passed"
    )
    connection.close()
