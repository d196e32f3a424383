"""The instruments of the virtual Host: each point springs once, and there; clocks, weights and faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from fencepost import CallError
from fencepost.host.engine import LEASE_SECONDS
from fencepost.host.instruments import POINTS, Traps, parse_point
from fencepost.host.virtual import VirtualHost
from fencepost.machine import Latitude, Rules
from fencepost.machine.actions import CommitAttempt
from fencepost.machine.replies import Fenced, Recorded
from fencepost.workflow import WorkflowEvent, deferred, start, tick


class World:
    """A virtual Host with one class: a, a sleep, a wait, b. What it did is counted; effects may be held."""

    def __init__(self, deployed: Mapping[str, int] | None = None, seed: int = 0, **choices: str) -> None:
        self.count: Counter[str] = Counter()
        self.gated: set[str] = set()
        self.gates: list[Callable[[Any], None]] = []
        world = self

        class Probe:
            def __init__(self, env: Mapping[str, Any]) -> None:
                self.version = env["VERSION"]

            async def run(self, event: WorkflowEvent, step: Any) -> Any:
                world.count["run"] += 1
                world.count[self.version] += 1
                await step.do("a", world.effect("a"))
                await step.sleep("s", 10)
                await step.wait_for_event("w", type="go", timeout_seconds=10)
                await step.do("b", world.effect("b"))
                world.count["end"] += 1
                return {"version": self.version}

        weights = {"v1": 1} if deployed is None else deployed
        loaders = {name: lambda: {"Probe": Probe} for name in ("v1", "v2")}
        self.host = VirtualHost(
            loaders, weights, environment=lambda name: {"VERSION": name}, seed=seed,
            rules=Rules(latitude=Latitude(**choices)),
        )  # fmt: skip

    def effect(self, name: str) -> Callable[[], Any]:
        async def effect() -> dict[str, Any]:
            self.count[name] += 1
            if name in self.gated:
                gate, release, _ = deferred()
                self.gates.append(release)
                await gate
            return {"n": self.count[name]}

        return effect

    def release(self) -> None:
        self.gated.clear()
        for release in self.gates:
            release(None)

    def status(self) -> str:
        return str(self.host.status("i")["status"])

    def finish(self) -> str:
        """Lead the instance to its end as far as nothing holds it, and tell its status."""
        self.host.settle()
        if self.status() == "sleeping":
            self.host.advance(10_000)
            self.host.settle()
        if self.status() == "waiting":
            self.host.send_event("i", "go")
            self.host.settle()
        return self.status()


# How often effects a, b and `run` begin when the owner is killed at a point. Without a kill: a 1, b 1, run 3.
KILLS = {
    "effect-start:a": (2, 1, 4),
    "effect-end:a": (2, 1, 4),
    "committed:a": (1, 1, 4),
    "parked:s": (1, 1, 3),
    "parked:w": (1, 1, 3),
    "consumed:w": (1, 1, 4),
    "effect-start:b": (1, 2, 4),
    "effect-end:b": (1, 2, 4),
    "committed:b": (1, 1, 4),
    "settled": (1, 1, 4),
}


def test_every_point_is_tried() -> None:
    assert {parse_point(at)[0] for at in KILLS} | {"now"} == set(POINTS)


@pytest.mark.parametrize("at", KILLS)
def test_a_kill_springs_at_its_point_and_once(at: str) -> None:
    world = World()
    world.host.kill("i", at)
    world.host.kill("other", at)
    world.host.create("i")
    assert world.finish() == "complete"
    assert (world.count["a"], world.count["b"], world.count["run"]) == KILLS[at]
    assert [trap.instance for trap in world.host.traps.set] == ["other"]


@pytest.mark.parametrize("at", ["consumed:w", "effect-start:b", "effect-end:b", "committed:b", "settled"])
def test_a_kill_of_a_stuck_owner_takes_no_effect(at: str) -> None:
    world = World()
    world.host.create("i")
    world.host.settle()
    world.host.advance(10_000)
    world.host.settle()
    world.host.kill("i", at)
    world.host.stuck("i")
    world.host.send_event("i", "go")
    world.host.settle()
    world.host.unstuck("i")
    assert world.status() == "complete"
    assert (world.count["b"], world.count["run"]) == (1, 3)


@pytest.mark.parametrize("at", [at for at in KILLS if not at.startswith("parked")])
def test_a_paused_owner_shows_nothing_and_goes_on_when_resumed(at: str) -> None:
    world = World()
    world.host.pause("i", at)
    world.host.create("i")
    assert world.finish() == "running"
    assert [owner.frozen for owner in world.host.owners] == [True]
    world.host.resume("i")
    assert world.finish() == "complete"
    assert (world.count["a"], world.count["b"]) == (1, 1)
    assert not world.host.traps.set


@pytest.mark.parametrize(("at", "parked"), [("parked:s", "sleeping"), ("parked:w", "waiting")])
def test_a_parked_status_is_held_back_by_a_frozen_context(at: str, parked: str) -> None:
    world = World()
    world.host.pause("i", at)
    world.host.create("i")
    world.host.settle()
    if at == "parked:w":
        world.host.advance(10_000)
        world.host.settle()
    assert world.status() == "running"
    world.host.resume("i")
    assert world.status() == parked


def test_a_kill_now_takes_the_present_owner() -> None:
    world = World()
    world.gated.add("a")
    world.host.create("i")
    world.host.kill("i")
    world.release()
    assert world.finish() == "complete"
    assert (world.count["a"], world.count["run"]) == (2, 4)


def test_an_unknown_point_is_refused_and_the_first_trap_springs_first() -> None:
    with pytest.raises(ValueError, match=r"^unknown point 'effect': use one of now, effect-start"):
        World().host.kill("i", "effect:a")
    traps = Traps()
    traps.arm("kill", "i", "settled", None)
    traps.arm("pause", "i", "settled", None)
    assert traps.spring("i", "settled", "a") is None
    assert [traps.spring("i", "settled", None) for _ in range(3)] == ["kill", "pause", None]


# -- frozen owners


def test_a_held_back_report_is_tried_first_and_commits_within_its_lease() -> None:
    world = World()
    world.host.pause("i", "effect-end:a")
    world.host.create("i")
    world.host.advance(LEASE_SECONDS * 1000 - 1)
    world.host.settle()
    world.host.resume("i")
    assert world.finish() == "complete"
    assert world.count["a"] == 1


def test_a_late_report_meets_the_fence_while_its_context_is_unproven() -> None:
    world = World()
    world.host.pause("i", "effect-end:a")
    world.host.create("i")
    world.host.advance(LEASE_SECONDS * 1000)
    world.host.settle()
    assert world.count["a"] == 2
    assert world.status() == "running"
    before = len(world.host.trace)
    world.host.resume("i")
    first = world.host.trace[before]
    assert (type(first.action), type(first.reply)) == (CommitAttempt, Fenced)
    assert world.finish() == "complete"


def test_an_expired_report_that_nobody_has_overtaken_is_open() -> None:
    for choice, reply, effects in (("refused", Fenced, 2), ("committed", Recorded, 1)):
        world = World(expired_lease=choice)
        world.host.pause("i", "effect-end:a")
        world.host.create("i")
        world.host.advance(LEASE_SECONDS * 1000)
        before = len(world.host.trace)
        world.host.resume("i")
        assert type(world.host.trace[before].reply) is reply
        assert world.count["a"] == effects


def test_a_healthy_owner_keeps_its_lease_whatever_the_clock_does() -> None:
    world = World()
    world.gated.add("a")
    world.host.create("i")
    world.host.advance(100 * LEASE_SECONDS * 1000)
    world.host.settle()
    world.release()
    assert world.finish() == "complete"
    assert world.count["a"] == 1


# -- stuck, terminate, restart, backend


@pytest.mark.parametrize(("choice", "answered"), [("rejected", True), ("unanswered", False)])
def test_a_stuck_instance_is_not_terminated(choice: str, answered: bool) -> None:
    world = World(unprovable_terminate=choice)
    world.gated.add("a")
    world.host.create("i")
    world.host.stuck("i")
    future = world.host.terminate("i")
    world.host.kill("i")
    assert world.status() == "running"
    assert future.done() == answered
    world.release()
    world.host.settle()
    assert world.count["end"] == 0
    world.host.unstuck("i")
    assert world.status() == "terminated"
    if answered:
        with pytest.raises(CallError, match="not proven"):
            future.result(0)
    else:
        assert future.result(0) is None


def test_a_restart_keeps_the_store_and_loses_executions() -> None:
    world = World(unprovable_terminate="unanswered")
    world.gated.add("b")
    world.host.kill("i", "settled")
    world.host.create("i")
    assert world.finish() == "running"
    world.host.restart()
    world.release()
    assert world.host.owners == []
    assert world.finish() == "complete"
    assert (world.count["a"], world.count["b"], world.count["run"]) == (1, 2, 5)
    assert not world.host.traps.set


def test_a_restart_rejects_calls_in_flight() -> None:
    world = World(unprovable_terminate="unanswered")
    world.gated.add("a")
    world.host.create("i")
    world.host.pause("i")
    future = world.host.terminate("i")
    assert not future.done()
    world.host.restart()
    with pytest.raises(CallError, match="backend_unavailable"):
        future.result(0)
    assert world.status() == "terminated"


def test_a_backend_that_is_down_refuses_every_call() -> None:
    world = World()
    world.host.create("i")
    world.host.backend(False)
    calls: list[Callable[[], Any]] = [
        lambda: world.host.create("j"), lambda: world.host.get("i"), lambda: world.host.status("i"),
        lambda: world.host.send_event("i", "go"), lambda: world.host.terminate("i"),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(CallError, match=r"^backend_unavailable: "):
            call()
    world.host.backend(True)
    assert world.finish() == "complete"


# -- time


def test_held_wakes_pass_unprocessed_until_they_are_let_go() -> None:
    world = World()
    world.host.create("i")
    world.host.hold_wakes(True)
    world.host.advance(10_000)
    world.host.settle()
    assert world.status() == "sleeping"
    world.host.hold_wakes(False)
    assert world.status() == "waiting"
    world.host.hold_wakes(True)
    world.host.advance(10_001)
    world.host.send_event("i", "go")
    world.host.hold_wakes(False)
    world.host.settle()
    assert world.host.status("i") == {"status": "errored", "error": {"reason": "run_threw"}}


def test_leases_are_no_deadlines() -> None:
    world = World()
    world.host.hold_wakes(True)
    world.host.pause("i", "effect-end:a")
    world.host.create("i")
    world.host.advance(LEASE_SECONDS * 1000)
    world.host.settle()
    assert world.count["a"] == 2


def test_only_advance_moves_the_clock_and_nothing_runs_in_it() -> None:
    world = World()
    world.host.create("i")
    world.host.advance(9_999)
    world.host.settle()
    assert world.status() == "sleeping"
    world.host.advance(1)
    assert world.count["run"] == 1
    world.host.settle()
    assert world.count["run"] == 2


def test_a_clock_of_whole_seconds() -> None:
    world = World(clock="whole-seconds")
    world.host.advance(500)
    world.host.create("i")
    world.host.advance(9_499)
    world.host.settle()
    assert world.status() == "sleeping"
    world.host.advance(1)
    world.host.settle()
    assert (world.status(), world.host.now) == ("waiting", 10_000)
    world.host.advance(10_999)
    world.host.send_event("i", "go")
    assert world.status() == "complete"


def test_floating_timers_fire_once_in_a_settle() -> None:
    ticks: list[int] = []

    class Probe:
        def __init__(self, env: Mapping[str, Any]) -> None:
            pass

        async def run(self, event: WorkflowEvent, step: Any) -> Any:
            async def ticker() -> None:
                while True:
                    await tick(1)
                    ticks.append(len(ticks))

            start(ticker())
            await deferred()[0]

    host = VirtualHost({"v1": lambda: {"Probe": Probe}}, {"v1": 1})
    host.create("i")
    assert ticks == []
    for _ in range(3):
        host.settle()
    assert ticks == [0, 1, 2]
    host.terminate("i").result(0)
    host.settle()
    assert ticks == [0, 1, 2]


# -- versions


def test_without_a_deployment_nothing_runs_and_weights_choose_from_then_on() -> None:
    world = World(deployed={})
    world.host.create("i")
    world.host.settle()
    assert (world.status(), world.count["run"]) == ("queued", 0)
    world.host.deploy({"v2": 10_000})
    assert (world.count["v2"], world.count["v1"]) == (1, 0)
    world.host.deploy({"v1": 10_000})
    assert world.finish() == "complete"
    assert world.host.status("i")["output"] == {"version": "v1"}
    assert (world.count["v2"], world.count["v1"]) == (1, 2)


def test_weights_are_shares_and_the_seed_decides() -> None:
    def picked(seed: int) -> list[str | None]:
        host = World(deployed={"v1": 9_000, "v2": 1_000}, seed=seed).host
        return [host.pick_version() for _ in range(1000)]

    assert picked(1) == picked(1) != picked(2)
    assert 850 < picked(1).count("v1") < 950


def test_a_further_context_is_lost_at_its_first_step() -> None:
    world = World(extra_contexts="more")
    world.host.create("i")
    assert world.finish() == "complete"
    assert (world.count["a"], world.count["b"], world.count["run"]) == (1, 1, 4)


def test_a_stuck_instance_has_no_further_context() -> None:
    world = World(extra_contexts="more")
    world.host.stuck("i")
    world.host.create("i")
    world.host.unstuck("i")
    assert world.finish() == "complete"
    assert (world.count["a"], world.count["b"], world.count["run"]) == (1, 1, 3)


def test_without_a_deployment_a_lost_owner_leaves_a_queued_instance() -> None:
    world = World()
    world.gated.add("a")
    world.host.create("i")
    world.host.deploy({})
    world.host.kill("i")
    assert world.status() == "queued"
