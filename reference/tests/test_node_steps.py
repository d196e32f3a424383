"""Steps in JavaScript: what is most easily got wrong, as small workflows and what has to come of each.

A case is the body of `async run(event, step)`. `mark(label)` reports to the test, `tick()` waits for a timer,
`never` is a promise that nobody settles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

PREAMBLE = """
const mark = (label) => { fetch(`http://marks/${label}`).catch(() => {}); };
const tick = () => new Promise((resolve) => setTimeout(resolve, 1));
const never = new Promise(() => {});
const boom = () => { throw new Error("boom"); };
const one = () => ({ n: 1 });
const failure = async (step) => {
  try { await step.do("failing", boom); } catch (error) { return error; }
};
"""


class Case(NamedTuple):
    """A body, and the status, reason or output that it ends with; `marks` are all that it may leave."""

    body: str
    ends: Any
    marks: tuple[str, ...] = ()
    settles: int = 2


MISMATCH = "step_definition_mismatch"

OVERLAPS = {
    "in_one_turn": Case(
        'step.do("a", () => { mark("a"); return {}; }); step.do("b", () => { mark("b"); return {}; }); '
        'mark("on"); return {};',
        MISMATCH,
    ),
    "in_one_turn_and_caught": Case(
        'try { await Promise.all([step.do("a", one), step.do("b", one)]); } catch { mark("caught"); } '
        'finally { mark("finally"); } return {};',
        MISMATCH,
    ),
    "in_a_later_turn": Case(
        'const a = step.do("a", () => tick().then(tick).then(one)); await tick(); '
        'try { await step.do("b", () => mark("b")); } finally { mark("finally"); } await a; return {};',
        MISMATCH,
        settles=4,
    ),
    "nested": Case('await step.do("a", () => step.do("b", one)); return {};', MISMATCH),
    "nested_after_microtasks": Case(
        'await step.do("a", async () => { for (let n = 0; n < 5; n++) await null; '
        'await step.sleep("b", 0); }); return {};',
        MISMATCH,
    ),
    "returns_over_an_open_step": Case('step.do("a", one); return {};', MISMATCH),
    "throws_over_an_open_step": Case('step.do("a", one); throw new Error("own");', MISMATCH),
    "returns_after_five_microtasks": Case(
        'step.do("a", () => never); for (let n = 0; n < 5; n++) await null; return {};', MISMATCH
    ),
    "returns_after_a_timer": Case('step.do("a", () => never); await tick(); return {};', MISMATCH, settles=3),
    "a_race_abandons_an_effect": Case(
        'await Promise.race([step.do("a", () => never), tick()]); return {};', MISMATCH, settles=3
    ),
    "sleep_and_wait": Case(
        'step.sleep("s", 5); step.waitForEvent("w", { type: "go", timeoutSeconds: 5 }); return {};', MISMATCH
    ),
    "one_after_the_other": Case('await step.do("a", one); await step.do("b", one); return {};', {}),
    "called_from_a_chain": Case(
        'await step.do("a", one).then(() => step.do("b", one)).finally(() => mark("done")); return {};',
        {},
        ("done",),
    ),
}

THENABLES = {
    "resolves_twice": Case(
        'return { got: await step.do("a", () => ({ then(go) { go({ n: 1 }); go({ n: 2 }); } })) };',
        {"got": {"n": 1}},
    ),
    "resolves_and_throws": Case(
        'return { got: await step.do("a", () => ({ then(go) { go({ n: 1 }); throw 1; } })) };',
        {"got": {"n": 1}},
    ),
    "thenable_of_a_thenable": Case(
        'return await step.do("a", () => ({ then(go) { go({ then(on) { on(tick().then(one)); } }); } }));',
        {"n": 1},
        settles=3,
    ),
    "never_settles": Case('return await step.do("a", () => ({ then() {} }));', "running"),
    "then_is_an_accessor": Case(
        'return await step.do("a", () => ({ get then() { mark("ran"); return undefined; } }));', "step_failed"
    ),
    "then_is_data": Case('return await step.do("a", async () => ({ then: 5 }));', {"then": 5}),
    "a_subclass_of_Promise": Case(
        'class P extends Promise {} return await step.do("a", () => P.resolve({ n: 1 }));', {"n": 1}
    ),
    "a_species_that_throws": Case(
        "class P extends Promise { static get [Symbol.species]() { throw new Error(); } } "
        'return await step.do("a", () => P.resolve({ n: 1 }));',
        {"n": 1},
    ),
    "a_frozen_promise": Case(
        'return await step.do("a", () => Object.freeze(Promise.resolve({ n: 1 })));', {"n": 1}
    ),
    "a_lazy_promise": Case(
        "class Lazy extends Promise { then(go) { go({ n: 1 }); } } "
        'return await step.do("a", () => new Lazy(() => {}));',
        {"n": 1},
    ),
    "run_gives_a_thenable": Case("return { then(go) { go({ n: 1 }); } };", {"n": 1}),
}

OUTCOMES = {
    "throws_undefined": Case("throw undefined;", "run_threw"),
    "throws_null": Case("throw null;", "run_threw"),
    "returns_null": Case("return null;", "run_threw"),
    "returns_undefined": Case("", None),
    "returns_text": Case('return "text";', "run_threw"),
    "a_late_handled_rejection": Case(
        "const late = Promise.reject(new Error()); await tick(); await late.catch(() => {}); return {};",
        {},
        settles=3,
    ),
    "an_unhandled_rejection": Case("Promise.reject(new Error()); await tick(); return {};", {}, settles=3),
    "a_throw_in_a_timer": Case(
        "setTimeout(() => { throw new Error('in a timer'); }); await tick(); return {};", {}, settles=3
    ),
    "a_throw_in_a_microtask": Case(
        "queueMicrotask(() => { throw new Error('in a microtask'); }); await tick(); return {};",
        {},
        settles=3,
    ),
    "an_interval_left_running": Case("setInterval(() => {}, 1); await tick(); return {};", {}, settles=3),
    "an_await_that_nothing_resolves": Case("await never;", "running"),
    "a_finally_around_a_park": Case(
        'try { await step.sleep("s", 60); } catch { mark("caught"); } finally { mark("finally"); } '
        "return {};",
        "sleeping",
    ),
    "a_bad_argument": Case(
        "try { await step.do(7, one); } catch (error) { return { is: error instanceof TypeError }; }",
        {"is": True},
    ),
    "a_null_policy": Case(
        'try { await step.do("a", one, null); } catch (error) { return { is: error instanceof TypeError }; }',
        {"is": True},
    ),
    "an_accessor_in_a_policy": Case(
        'try { await step.do("a", one, { get maxAttempts() { mark("ran"); return 1; } }); } '
        "catch (error) { return { is: error instanceof TypeError }; }",
        {"is": True},
    ),
    "undefined_in_a_policy": Case(
        'return await step.do("a", one, { maxAttempts: 1, backoff: undefined });', {"n": 1}
    ),
}

PROVENANCE = {
    "rethrown_after_an_await": Case(
        "const error = await failure(step); await tick(); throw error;", "step_failed", settles=3
    ),
    "taken_from_allSettled": Case(
        'const [{ reason }] = await Promise.allSettled([step.do("a", boom)]); throw reason;', "step_failed"
    ),
    "uncaught": Case('await step.do("a", boom);', "step_failed"),
    "uncaught_from_a_callback": Case('return step.do("a", boom).then(one);', "step_failed"),
    "a_clone": Case("throw structuredClone(await failure(step));", "run_threw"),
    "a_proxy": Case("throw new Proxy(await failure(step), {});", "run_threw"),
    "an_object_made_from_it": Case("throw Object.create(await failure(step));", "run_threw"),
    "a_wrapper_with_it_as_cause": Case(
        'throw new Error("wrapped", { cause: await failure(step) });', "run_threw"
    ),
    "an_aggregate": Case("throw new AggregateError([await failure(step)]);", "run_threw"),
    "a_copy": Case(
        'throw Object.defineProperty(new Error("x"), "name", { value: "step_failed" });', "run_threw"
    ),
    "its_name": Case(
        'return Object.getOwnPropertyDescriptor(await failure(step), "name");',
        {"value": "step_failed", "writable": False, "enumerable": False, "configurable": False},
    ),
    "its_name_cannot_be_changed": Case(
        "const error = await failure(step); "
        'try { error.name = "other"; } catch {} try { delete error.name; } catch {} '
        "return { name: error.name, is: error instanceof Error };",
        {"name": "step_failed", "is": True},
    ),
    "thrown_in_another_effect": Case(
        'const error = await failure(step); try { await step.do("b", () => { throw error; }); } '
        "catch (other) { return { same: other === error, name: other.name }; }",
        {"same": False, "name": "step_failed"},
    ),
    "a_timeout": Case('await step.waitForEvent("w", { type: "go", timeoutSeconds: 1 });', "waiting"),
}

CASES = OVERLAPS | THENABLES | OUTCOMES | PROVENANCE


@pytest.fixture(scope="module")
def stage(stage_of: Callable[[str], Any]) -> Any:
    classes = (
        f"export class {name} {{ async run(event, step) {{ {case.body} }} }}" for name, case in CASES.items()
    )
    return stage_of(PREAMBLE + "\n".join(classes))


@pytest.mark.parametrize("name", CASES)
def test_a_case_ends_as_it_has_to(stage: Any, name: str) -> None:
    case = CASES[name]
    assert stage.play(name, case.settles) == case.ends
    assert tuple(stage.marks) == case.marks


def test_code_around_a_park_runs_in_the_context_that_goes_on(stage: Any) -> None:
    host = stage.host("a_finally_around_a_park")
    host.create("i")
    host.settle()
    host.advance(60_000)
    host.settle()
    assert stage.ended(host) == {}
    assert stage.marks == ["finally"]


def test_an_uncaught_timeout_is_no_failure_of_a_step(stage: Any) -> None:
    host = stage.host("a_timeout")
    host.create("i")
    host.settle()
    host.advance(1_001)
    host.settle()
    assert stage.ended(host) == "run_threw"
