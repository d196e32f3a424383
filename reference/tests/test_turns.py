"""Promises and turns: what awaits what, in which turn, and what becomes of coroutines that nobody resumes."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fencepost import workflow
from fencepost.contexts import turns
from fencepost.contexts.turns import Abandoned, Promise, Turns


def test_a_promise_may_be_awaited_often_and_settles_once() -> None:
    driver, seen = Turns(), []
    promise = Promise(driver)

    async def look() -> None:
        seen.append((await promise, await promise))

    driver.start(look())
    driver.start(look())
    driver.turn()
    assert seen == []
    promise.resolve(1)
    promise.resolve(2)
    promise.reject(ValueError())
    driver.turn()
    assert seen == [(1, 1), (1, 1)]
    assert driver.idle


def test_every_await_of_a_rejection_raises_the_same_object() -> None:
    driver, caught, error = Turns(), [], ValueError("on purpose")
    promise = Promise(driver)
    promise.reject(error)

    async def look() -> None:
        for _ in range(2):
            try:
                await promise
            except ValueError as found:
                caught.append(found)

    driver.start(look())
    driver.turn()
    assert caught[0] is caught[1] is error


def test_start_rejects_like_its_coroutine_and_silently_if_nobody_looks() -> None:
    driver = Turns()

    async def fails(error: BaseException) -> None:
        raise error

    async def outer() -> str:
        workflow.start(fails(ValueError()))
        try:
            await workflow.start(fails(SystemExit("inner")))
        except SystemExit as error:
            return str(error)
        return ""

    promise = driver.start(outer())
    driver.turn()
    assert promise.value == "inner"


def test_a_deferred_is_resolved_from_outside_and_wakes_its_driver() -> None:
    woken: list[str] = []
    driver = Turns(lambda: woken.append("woken"))
    functions: list[Callable[[Any], None]] = []

    async def outer() -> Any:
        awaitable, resolve, _ = workflow.deferred()
        functions.append(resolve)
        return await awaitable

    promise = driver.start(outer())
    driver.turn()
    woken.clear()
    functions[0](7)
    assert woken
    driver.turn()
    assert promise.value == 7


def test_next_turn_and_tick_never_settle_in_the_turn_that_asked() -> None:
    driver, seen = Turns(), list[str]()

    async def later(what: Callable[[], Awaitable[None]], label: str) -> None:
        await what()
        seen.append(label)

    driver.start(later(workflow.next_turn, "next"))
    driver.start(later(lambda: workflow.tick(5), "tick"))
    driver.turn()
    assert not seen
    driver.turn()
    assert seen == ["next"]
    driver.fire_ticks()
    driver.turn()
    assert seen == ["next", "tick"]


def test_halt_leaves_the_others_to_the_next_turn() -> None:
    driver, seen = Turns(), list[int]()

    async def one(number: int) -> None:
        seen.append(number)
        driver.halt()

    driver.start(one(1))
    driver.start(one(2))
    driver.turn()
    assert seen == [1]
    driver.turn()
    assert seen == [1, 2]


def test_whoever_awaits_an_abandoned_coroutine_is_never_resumed() -> None:
    driver, seen = Turns(), list[str]()

    async def gone() -> None:
        raise Abandoned

    async def outer() -> None:
        await workflow.start(gone())
        seen.append("resumed")

    promise = driver.start(outer())
    driver.turn()
    driver.turn()
    assert not promise.settled
    assert seen == []
    driver.discard()


def test_an_interrupt_reaches_the_driver_unless_it_is_told_otherwise() -> None:
    async def interrupted() -> None:
        raise KeyboardInterrupt

    driver = Turns()
    driver.start(interrupted())
    with pytest.raises(KeyboardInterrupt):
        driver.turn()
    assert turns.current() is None
    driver.passes = ()
    promise = driver.start(interrupted())
    driver.turn()
    assert isinstance(promise.error, KeyboardInterrupt)


def test_a_bare_yield_is_simply_resumed() -> None:
    async def outer() -> int:
        await asyncio.sleep(0)
        return 1

    driver = Turns()
    promise = driver.start(outer())
    driver.turn()
    assert promise.value == 1


def test_nothing_of_a_discarded_coroutine_runs_while_it_is_referenced() -> None:
    drivers, seen = [Turns()], list[str]()

    async def suspended() -> None:
        try:
            await workflow.deferred()[0]
        finally:
            seen.append("finally")

    async def never_begun() -> None:
        seen.append("begun")

    kept = [suspended()]
    drivers[0].start(kept[0])
    drivers[0].turn()
    drivers[0].start(never_begun())
    drivers[0].discard()
    drivers[0].turn()
    drivers.clear()
    gc.collect()
    assert seen == []
    kept.clear()
    gc.collect()
    assert seen == ["finally"], "as the docstrings say, dropping the last reference runs it"


def test_a_driver_is_current_only_in_its_turn() -> None:
    inner: list[object] = []

    async def look() -> None:
        inner.append(turns.current())
        with turns.suspended():
            inner.append(turns.current())
        inner.append(turns.current())

    driver = Turns()
    driver.start(look())
    driver.turn()
    assert inner == [driver, None, driver]
    assert turns.current() is None
