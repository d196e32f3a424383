"""The probe's interpreter and the journal, under the deterministic driver and a step that records at once."""

import gc
from types import SimpleNamespace

import pytest
from fencepost.contexts.turns import Turns
from fencepost.workflow import StepError
from fencepost_conformance.journal import Journal
from fencepost_conformance.probe import load
from fencepost_conformance.probe.values import UNDEFINED


class Step:
    """Runs effects and parks for ever; `failing` names fail as the Host would say it."""

    def __init__(self, driver, failing=()):
        self.driver, self.failing, self.calls = driver, failing, []

    def do(self, name, effect, *retry):
        self.calls.append((name, *retry))
        if not callable(effect):
            raise TypeError("effect")

        async def outcome():
            result = await effect()
            if name in self.failing:
                raise StepError("step_failed")
            return result

        return self.driver.start(outcome())

    def sleep(self, name, seconds):
        self.calls.append((name, seconds))
        return self.driver.tick()

    def wait_for_event(self, name, *, type, timeout_seconds):
        self.calls.append((name, type, timeout_seconds))
        return self.driver.tick()


class Context:
    """One context of the probe with a program."""

    def __init__(self, program, params=None, journal=None, exports=None, **how):
        self.journal = journal or Journal()
        self.driver = Turns()
        self.step = Step(self.driver, **how)
        exports = exports or load("v1")()
        probe = exports["Probe"]({"VERSION": "v1", "JOURNAL": self.journal})
        event = SimpleNamespace(instance_id="i", params={"program": program, **(params or {})})
        self.run = self.driver.start(probe.run(event, self.step))

    def settle(self):
        while not self.driver.idle:
            self.driver.turn()
        return self.run


def outcome(program, **how):
    run = Context(program, **how).settle()
    assert run.settled
    if run.error is not None:
        raise run.error
    return run.value


def do(name, effect=None, **more):
    return {"do": name, "effect": effect or {"value": {}}, **more}


def test_a_program_that_falls_off_its_end_returns_nothing():
    assert outcome([]) is None
    assert outcome([{"return": {"$": "nothing"}}]) is None


def test_the_program_of_the_version_is_run():
    assert outcome({"v1": [{"return": {"n": 1}}], "v2": [{"return": {"n": 2}}]}) == {"n": 1}


def test_params_come_without_the_program():
    assert outcome([{"return": {"$params": True}}], params={"k": 1}) == {"k": 1}


def test_without_params_there_is_no_program():
    driver = Turns()
    probe = load("v1")()["Probe"]({"VERSION": "v1", "JOURNAL": Journal()})
    run = driver.start(probe.run(SimpleNamespace(instance_id="i", params=None), None))
    driver.turn()
    assert (run.settled, run.value, run.error) == (True, None, None)


def test_steps_keep_results_and_errors():
    program = [
        do("a", {"value": {"n": 1}}, **{"as": "r"}),
        do("b", {"undefined": True}, **{"as": "u"}),
        do("c", {"throw": "no"}, catch="e"),
        do("d", catch="f"),
        {"return": {"r": {"$": "r"}, "u": {"$isUndefined": "u"}, "e": {"$error": "e"}, "f": {"$error": "f"}}},
    ]
    assert outcome(program, failing=("d",)) == {
        "r": {"n": 1},
        "u": True,
        "e": {"name": "Error", "message": "no"},
        "f": {"name": "step_failed", "message": "step_failed"},
    }


def test_names_are_filled_in_a_loop_that_counts_from_0():
    context = Context(
        [{"repeat": 3, "index": "n", "ops": [do("s${n}", {"value": {"n": {"$": "n"}}}, **{"as": "r"})]}]
    )
    context.settle()
    assert [name for name, *_ in context.step.calls] == ["s0", "s1", "s2"]
    assert context.journal.effects == {"s0": 1, "s1": 1, "s2": 1}


def test_a_return_leaves_every_block():
    inner = [{"if": 1, "then": [{"try": [{"return": {"n": 1}}], "finally": [{"mark": "f"}]}]}]
    context = Context([{"repeat": 9, "ops": inner}, {"mark": "never"}])
    assert context.settle().value == {"n": 1}
    assert context.journal.marks == {"f": 1}


@pytest.mark.parametrize(
    ("operation", "marks"),
    [
        ({"try": [{"throw": "a"}], "catch": "e", "finally": [{"mark": "f"}]}, {"f": 1, "after": 1}),
        ({"try": [{"throw": "a"}], "handler": [{"mark": "h"}]}, {"h": 1, "after": 1}),
        ({"try": [{"throw": "a"}], "finally": [{"mark": "f"}]}, {"f": 1}),
        (
            {
                "try": [{"throw": "a"}],
                "catch": "e",
                "handler": [{"rethrow": "e"}],
                "finally": [{"mark": "f"}],
            },
            {"f": 1},
        ),
        ({"try": [{"mark": "t"}], "handler": [{"mark": "h"}]}, {"t": 1, "after": 1}),
    ],
)
def test_try_is_as_in_the_language(operation, marks):
    context = Context([operation, {"mark": "after"}])
    context.settle()
    assert context.journal.marks == marks


def test_a_return_in_finally_wins():
    assert outcome([{"try": [{"throw": "a"}], "finally": [{"return": {"n": 1}}]}]) == {"n": 1}


def test_errors_thrown_again_are_the_same_a_copy_or_a_wrapper():
    caught = [do("d", catch="e")]
    same = Context([*caught, {"rethrow": "e"}], failing=("d",)).settle().error
    assert isinstance(same, StepError)
    copy = Context([*caught, {"throwCopyOf": "e"}], failing=("d",)).settle().error
    assert not isinstance(copy, StepError)
    assert (copy.name, str(copy)) == ("step_failed", "step_failed")
    wrapper = Context([*caught, {"throwCauseOf": "e"}], failing=("d",)).settle().error
    assert isinstance(wrapper.__cause__, StepError)
    assert not hasattr(wrapper, "name")


def test_an_object_that_was_handed_out_can_be_mutated():
    program = [
        do("a", {"value": {"list": [1]}}, **{"as": "o"}),
        {"set": "o.n", "to": 9},
        {"set": "o.list.1", "to": 2},
        {"return": {"$": "o"}},
    ]
    assert outcome(program) == {"n": 9, "list": [1, 2]}
    with pytest.raises(TypeError):
        outcome([{"set": "nothing.n", "to": 1}])


def test_calls_beside_each_other_are_made_before_anything_runs():
    context = Context([{"together": [do("a"), do("b")]}, {"unawaited": do("c")}, {"return": {}}])
    context.driver.turn()
    assert [name for name, *_ in context.step.calls] == ["a", "b"]
    context.settle()
    assert [name for name, *_ in context.step.calls] == ["a", "b", "c"]


def test_an_unawaited_call_is_made_before_the_run_goes_on():
    context = Context([{"unawaited": do("c")}, {"return": {}}])
    context.driver.turn()
    assert context.run.settled
    assert context.step.calls == [("c",)]


def test_what_runs_beside_others_begins_where_it_stands():
    context = Context([{"together": [{"try": [do("a")]}, do("b")]}, {"return": {}}])
    context.settle()
    assert [call[0] for call in context.step.calls] == ["a", "b"]


def test_together_fails_with_the_first_failure_and_a_race_ends_with_the_first_end():
    slow = do("slow", {"gate": "g"})
    assert Context([{"together": [slow, do("a", {"throw": "no"})]}]).settle().error.args == ("no",)
    context = Context([{"race": [slow, do("a", {"value": {"n": 1}}, **{"as": "r"})]}, {"return": {"$": "r"}}])
    assert context.settle().value == {"n": 1}
    assert outcome([{"together": [do("a", **{"as": "r"}), do("b")]}, {"return": {"$": "r"}}]) == {}


def test_missing_arguments_are_undefined_and_odd_effects_are_passed_on():
    context = Context([{"do": "a", "catch": "e"}, {"do": "b", "effect": 5, "catch": "f"}, {"sleep": "s"}])
    context.settle()
    assert context.step.calls == [("a",), ("b",), ("s", UNDEFINED)]
    policy = Context([do("a", retry={"maxAttempts": 2.0}), {"wait": "w", "type": "t", "timeoutSeconds": 5.0}])
    policy.settle()
    assert policy.step.calls == [("a", {"maxAttempts": 2}), ("w", "t", 5)]


def test_attempts_are_counted_by_the_journal_over_contexts():
    journal = Journal()
    program = [
        do("a", {"attempts": [{"throw": "1"}, {"value": {"n": 2}}]}, **{"as": "r", "catch": "e"}),
        {"return": {"$": "r"}},
    ]
    seen = [Context(program, journal=journal).settle().value for _ in range(3)]
    assert seen == [None, {"n": 2}, {"n": 2}]
    assert journal.effects == {"a": 3}
    assert journal.runs == {"i": 3}


def test_a_gate_stays_open_once_released():
    context = Context(
        [do("a", {"gate": "g", "then": {"value": {"n": 1}}}), do("b", {"gate": "g"}), {"return": {}}]
    )
    assert not context.settle().settled
    assert context.journal.effects == {"a": 1}
    context.journal.release("g")
    assert context.settle().value == {}


def test_an_effect_settles_in_a_later_turn_than_the_one_that_called_it():
    context = Context([do("a"), {"return": {}}])
    context.driver.turn()
    assert context.journal.effects == {"a": 1}
    assert context.journal.ended == {}
    assert not context.run.settled


def test_a_watcher_hears_of_an_effect_after_it_was_counted():
    journal = Journal()
    heard = []
    journal.on_effect_start.append(
        lambda instance, name: heard.append((instance, name, journal.effects[name]))
    )
    Context([do("a")], journal=journal).settle()
    assert heard == [("i", "a", 1)]


def test_counters_live_in_the_module_and_in_the_instance():
    program = [
        {"moduleCounter": "m"},
        {"moduleCounter": "m"},
        {"instanceCounter": "k"},
        {"return": {"m": {"$": "m"}, "k": {"$": "k"}}},
    ]
    assert outcome(program) == {"m": 2, "k": 1}
    exports = load("v1")()
    assert outcome(program, exports=exports) == {"m": 2, "k": 1}
    assert outcome(program, exports=exports) == {"m": 4, "k": 1}
    assert outcome(program) == {"m": 2, "k": 1}


def test_a_ticker_marks_beside_the_program_and_a_spin_never_ends():
    context = Context([{"ticker": "t", "everyMs": 10}, {"spin": True}])
    for _ in range(3):
        assert not context.settle().settled
        context.driver.fire_ticks()
    context.settle()
    assert context.journal.marks == {"t": 3}


def test_a_dropped_context_runs_nothing():
    program = [
        {
            "try": [{"sleep": "s", "seconds": 5}],
            "catch": "e",
            "handler": [{"mark": "h"}],
            "finally": [{"mark": "f"}],
        },
        {"mark": "after"},
    ]
    context = Context(program)
    context.settle()
    journal = context.journal
    del context
    gc.collect()
    assert journal.marks == {}


def test_an_effect_may_call_a_step():
    context = Context([do("a", {"nested": do("b")}), {"return": {}}])
    assert context.settle().value == {}
    assert [name for name, *_ in context.step.calls] == ["a", "b"]


class Binding:
    def __init__(self):
        self.terminated = []

    async def get(self, id):
        async def terminate():
            self.terminated.append(id)

        return SimpleNamespace(terminate=terminate)


def test_an_instance_can_terminate_itself_through_its_binding():
    binding, driver = Binding(), Turns()
    probe = load("v1")()["Probe"]({"VERSION": "v1", "JOURNAL": Journal(), "PROBE": binding})
    driver.start(
        probe.run(SimpleNamespace(instance_id="i", params={"program": [{"call": "terminate"}]}), None)
    )
    driver.turn()
    assert binding.terminated == ["i"]


def test_the_module_exports_classes_that_are_no_workflow():
    exports = load("v1")()
    assert not hasattr(exports["WithoutRun"], "run")
    assert not callable(exports["NotConstructible"])
    assert "Absent" not in exports
