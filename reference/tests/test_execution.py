"""The application's side of a context, in process: what it throws, awaits and leaves, and how it ends."""

from __future__ import annotations

import asyncio
import copy
import gc
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any

import pytest
from fencepost.contexts.turns import Abandoned
from fencepost.host.virtual import VirtualHost
from fencepost.machine import Latitude, Rules
from fencepost.workflow import StepError, WorkflowEvent, deferred, next_turn, start

Body = Callable[[Any, list[Any]], Coroutine[Any, Any, Any]]
MISMATCH = {"status": "errored", "error": {"reason": "step_definition_mismatch"}}


def threw(reason: str = "run_threw") -> dict[str, Any]:
    return {"status": "errored", "error": {"reason": reason}}


def complete(output: Any = None) -> dict[str, Any]:
    return {"status": "complete"} | ({} if output is None else {"output": output})


def host_of(exports: Mapping[str, Any], **choices: str) -> VirtualHost:
    return VirtualHost({"v1": lambda: exports}, {"v1": 1}, rules=Rules(latitude=Latitude(**choices)))


def outcome(exports: Mapping[str, Any], **choices: str) -> dict[str, Any]:
    host = host_of(exports, **choices)
    host.create("i")
    return host.status("i")


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    """A dropped coroutine runs its `finally` when Python collects it: not at some time inside of a test."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def play(body: Body, seconds: int = 0, **choices: str) -> tuple[dict[str, Any], list[Any]]:
    """The status of one run of `body`, and what it has put into its list; the clock moves once by seconds."""
    seen: list[Any] = []

    class Probe:
        def __init__(self, env: Mapping[str, Any]) -> None:
            pass

        async def run(self, event: WorkflowEvent, step: Any) -> Any:
            return await body(step, seen)

    host = host_of({"Probe": Probe}, **choices)
    host.create("i")
    host.advance(seconds * 1000)
    host.settle()
    return host.status("i"), seen


def fail() -> None:
    raise ValueError("on purpose")


# -- awaiting


def test_a_step_may_be_awaited_twice() -> None:
    async def body(step: Any, seen: list[Any]) -> Any:
        promise = step.do("a", lambda: {"n": 1})
        first, second = await promise, await promise
        return {"first": first, "second": second}

    assert play(body)[0] == complete({"first": {"n": 1}, "second": {"n": 1}})


def test_a_finished_step_need_not_be_awaited() -> None:
    async def body(step: Any, seen: list[Any]) -> Any:
        await step.do("a", lambda: seen.append("a"))
        step.do("a", lambda: seen.append("again"))

    assert play(body) == (complete(), ["a"])


def test_every_await_of_a_failed_step_raises_the_same_error() -> None:
    async def body(step: Any, seen: list[Any]) -> Any:
        promise = step.do("a", fail)
        for _ in range(2):
            try:
                await promise
            except StepError as error:
                seen.append(error)
        with pytest.raises(AttributeError):
            seen[0].name = "other"

    status, seen = play(body)
    assert status == complete()
    assert seen[0] is seen[1]
    assert seen[0].name == "step_failed"


def test_a_replay_hands_out_a_copy_of_the_record() -> None:
    async def body(step: Any, seen: list[Any]) -> Any:
        document = {"list": [-0.0]}
        first = await step.do("a", lambda: document)
        first["list"].append("mutated")
        document["more"] = [1]
        again = await step.do("a", lambda: document)
        return {"again": again, "sign": str(again["list"][0])}

    assert play(body)[0] == complete({"again": {"list": [0]}, "sign": "0"})


def test_a_live_first_result_is_open() -> None:
    async def body(step: Any, seen: list[Any]) -> Any:
        document = {"n": 1}
        seen.append(await step.do("a", lambda: document) is document)
        seen.append(await step.do("a", lambda: document) is document)

    assert play(body, first_result="live-object")[1] == [True, False]


# -- genuine errors are known by identity


async def caught(step: Any) -> StepError:
    try:
        await step.do("a", fail)
    except StepError as error:
        return error
    raise AssertionError("the step has failed")


async def rethrown(step: Any, seen: list[Any]) -> Any:
    raise await caught(step)


async def rethrown_after_another_step(step: Any, seen: list[Any]) -> Any:
    error = await caught(step)
    await step.do("b", lambda: None)
    await next_turn()
    raise error


async def uncaught(step: Any, seen: list[Any]) -> Any:
    await step.do("a", fail)


async def through_start(step: Any, seen: list[Any]) -> Any:
    await start(uncaught(step, seen))


async def copied(step: Any, seen: list[Any]) -> Any:
    raise copy.copy(await caught(step))


async def as_cause(step: Any, seen: list[Any]) -> Any:
    raise ValueError("wrapped") from await caught(step)


async def made_by_the_user(step: Any, seen: list[Any]) -> Any:
    raise StepError("step_failed")


async def subclass(step: Any, seen: list[Any]) -> Any:
    class Mine(StepError):
        pass

    raise Mine((await caught(step)).name)


class Equal(StepError):
    """Says that it is whatever it is compared with."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


async def equal_to_the_genuine(step: Any, seen: list[Any]) -> Any:
    await caught(step)
    raise Equal("step_failed")


async def timed_out(step: Any, seen: list[Any]) -> Any:
    await step.wait_for_event("w", type="go", timeout_seconds=1)


async def handled(step: Any, seen: list[Any]) -> Any:
    await caught(step)


async def in_another_effect(step: Any, seen: list[Any]) -> Any:
    error = await caught(step)

    def rethrow() -> None:
        raise error

    try:
        await step.do("b", rethrow)
    except StepError as second:
        return {"same": second is error, "name": second.name}


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (uncaught, threw("step_failed")),
        (rethrown, threw("step_failed")),
        (rethrown_after_another_step, threw("step_failed")),
        (through_start, threw("step_failed")),
        (copied, threw()),
        (as_cause, threw()),
        (made_by_the_user, threw()),
        (subclass, threw()),
        (equal_to_the_genuine, threw()),
        (timed_out, threw()),
        (handled, complete()),
        (in_another_effect, complete({"same": False, "name": "step_failed"})),
    ],
)
def test_only_the_genuine_object_ends_a_run_as_step_failed(body: Body, wanted: dict[str, Any]) -> None:
    assert play(body, seconds=2)[0] == wanted


# -- overlap and unsettled steps: nothing that awaits a step goes on


async def guarded(awaitable: Any, seen: list[Any]) -> None:
    try:
        await awaitable
    except BaseException:
        seen.append("caught")
        raise
    seen.append("went on")


async def in_one_turn(step: Any, seen: list[Any]) -> Any:
    first = step.do("a", lambda: seen.append("a"))
    second = step.do("b", lambda: seen.append("b"))
    await guarded(first, seen)
    await guarded(second, seen)


async def in_a_later_turn(step: Any, seen: list[Any]) -> Any:
    async def effect() -> None:
        await deferred()[0]

    start(guarded(step.do("a", effect), seen))
    await next_turn()
    await next_turn()
    await guarded(step.do("b", lambda: seen.append("b")), seen)


async def nested(step: Any, seen: list[Any]) -> Any:
    async def effect() -> None:
        await guarded(step.do("inner", lambda: seen.append("inner")), seen)

    await guarded(step.do("outer", effect), seen)


async def unawaited_at_return(step: Any, seen: list[Any]) -> Any:
    step.do("a", lambda: seen.append("a"))
    return {"not": "this"}


async def unawaited_at_throw(step: Any, seen: list[Any]) -> Any:
    step.sleep("s", 0)
    raise ValueError("not this")


async def unawaited_future_sleep(step: Any, seen: list[Any]) -> Any:
    step.sleep("s", 60)


@pytest.mark.parametrize(
    "body",
    [in_one_turn, in_a_later_turn, nested, unawaited_at_return, unawaited_at_throw, unawaited_future_sleep],
)
def test_overlap_and_unsettled_steps_end_the_run_unseen(body: Body) -> None:
    assert play(body) == (MISMATCH, [])


def test_the_turn_of_a_faulty_call_completes_or_stops_at_once() -> None:
    async def body(step: Any, seen: list[Any]) -> Any:
        step.do("a", lambda: None)
        step.do("b", lambda: None)
        seen.append("behind")

    assert play(body) == (MISMATCH, ["behind"])
    assert play(body, current_turn="stops-at-once") == (MISMATCH, [])


def test_the_first_of_two_overlapping_effects_may_have_begun() -> None:
    async def body(step: Any, seen: list[Any]) -> Any:
        first = step.do("a", lambda: seen.append("a"))
        await next_turn()
        step.do("b", lambda: seen.append("b"))
        await first

    assert play(body, overlapped_effect="started") == (MISMATCH, ["a"])


@pytest.mark.parametrize("choice", ["after-turn", "at-once"])
def test_later_code_of_the_turn_behind_a_park_is_open(choice: str) -> None:
    async def body(step: Any, seen: list[Any]) -> Any:
        promise = step.sleep("s", 1)
        seen.append("behind")
        await promise

    status, seen = play(body, seconds=1, park_after=choice)
    assert status == complete()
    assert seen == ["behind"] * (2 if choice == "after-turn" else 1)


def test_a_bad_argument_is_rejected_or_thrown() -> None:
    async def body(step: Any, seen: list[Any]) -> Any:
        promise = step.sleep("s", -1)
        seen.append("called")
        await promise

    assert play(body) == (threw(), ["called"])
    assert play(body, bad_argument="thrown") == (threw(), [])


def test_an_unfit_result_that_is_a_type_error_leaves_no_step_open() -> None:
    async def body(step: Any, seen: list[Any]) -> Any:
        try:
            await step.do("a", lambda: [1])
        except TypeError:
            seen.append("type error")
        await step.do("b", lambda: seen.append("b"))

    assert play(body, invalid_result="type-error") == (complete(), ["type error", "b"])


# -- classes and what they throw


class Plain:
    def __init__(self, env: Mapping[str, Any]) -> None:
        pass


@pytest.mark.parametrize(
    "returned",
    [
        [1],
        1,
        "x",
        {1},
        {"x": float("nan")},
        {"x": {1}},
        {"x": "\ud800"},
        {1: 1},
        object(),
        {"x": "x" * 1_048_576},
    ],
)
def test_a_return_that_is_no_document_ends_as_run_threw(returned: Any) -> None:
    class Probe(Plain):
        def run(self, event: WorkflowEvent, step: Any) -> Any:
            return returned

    assert outcome({"Probe": Probe}) == threw()


@pytest.mark.parametrize("returned", [None, {}, {"output": {"x": 1}}])
def test_a_return_may_be_direct_and_is_not_unwrapped(returned: Any) -> None:
    class Probe(Plain):
        def run(self, event: WorkflowEvent, step: Any) -> Any:
            return returned

    assert outcome({"Probe": Probe}) == complete(returned)


class Own(BaseException):
    pass


@pytest.mark.parametrize(
    "error", [SystemExit, GeneratorExit, asyncio.CancelledError, StopIteration, MemoryError, Own]
)
def test_every_kind_of_error_is_the_applications(error: type[BaseException]) -> None:
    async def body(step: Any, seen: list[Any]) -> Any:
        raise error

    assert play(body)[0] == threw()

    async def effect() -> None:
        raise error

    async def in_effect(step: Any, seen: list[Any]) -> Any:
        await step.do("a", effect)

    assert play(in_effect)[0] == threw("step_failed")


def test_an_interrupt_of_the_one_who_drives_is_not() -> None:
    async def body(step: Any, seen: list[Any]) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play(body)


def raising(error: BaseException) -> Callable[..., Any]:
    def raises(*_: Any) -> Any:
        raise error

    return raises


@pytest.mark.parametrize(
    "exports",
    [
        {},
        {"Probe": 3},
        {"Probe": lambda env: None},
        {"Probe": Plain},
        {"Probe": type("Probe", (Plain,), {"run": 3})},
    ],
)
def test_a_module_without_a_fit_class_is_run_threw_or_the_hosts_fault(exports: dict[str, Any]) -> None:
    assert outcome(exports) == threw()
    assert outcome(exports, broken_module="host-fault")["status"] not in ("complete", "errored", "terminated")


@pytest.mark.parametrize("error", [ValueError("on purpose"), SystemExit(1)])
def test_a_module_that_throws_is_broken_and_a_constructor_that_throws_is_not(error: BaseException) -> None:
    for choice in ("run-threw", "host-fault"):
        rules = Rules(latitude=Latitude(broken_module=choice))
        host = VirtualHost({"v1": raising(error)}, {"v1": 1}, rules=rules)
        host.create("i")
        assert (host.status("i") == threw()) == (choice == "run-threw")
        throwing = type("Probe", (), {"__init__": raising(error), "run": lambda self, event, step: None})
        assert outcome({"Probe": throwing}, broken_module=choice) == threw()


def test_each_context_has_a_fresh_object_and_its_own_params() -> None:
    seen: list[Any] = []

    class Probe:
        def __init__(self, env: Mapping[str, Any]) -> None:
            self.env = env
            self.counter = 0

        async def run(self, event: WorkflowEvent, step: Any) -> Any:
            assert event.params is not None
            self.counter += 1
            seen.append((self.counter, copy.deepcopy(event.params), event.instance_id, dict(self.env)))
            event.params["list"].append("mutated")
            with pytest.raises(TypeError):
                self.env["KEY"] = 1  # type: ignore[index]
            await step.sleep("s", 1)

    host = VirtualHost(
        {"v1": lambda: {"Probe": Probe}}, {"v1": 1}, environment=lambda version: {"V": version}
    )
    host.create("i", {"list": []})
    host.advance(1000)
    host.settle()
    assert host.status("i") == complete()
    assert seen == [(1, {"list": []}, "i", {"V": "v1"})] * 2


def test_dropping_a_context_warns_of_no_coroutine() -> None:
    async def helper() -> None:
        await next_turn()

    async def body(step: Any, seen: list[Any]) -> Any:
        step.do("a", lambda: None)
        start(helper())
        step.do("b", lambda: None)

    assert play(body)[0] == MISMATCH
    assert play(body, current_turn="stops-at-once")[0] == MISMATCH


def test_abandoned_is_no_error_of_the_application() -> None:
    assert not issubclass(Abandoned, Exception)
