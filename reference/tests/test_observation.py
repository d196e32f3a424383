"""What a running Host shows of itself: immutable states, and a ring of moments that is bounded twice."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fencepost import CallError, Host
from fencepost.contexts.forkserver import CannotLoad, Export, Module
from fencepost.host.calls import Moment
from fencepost.host.observation import Trace
from fencepost.machine import Rules, Vacant, apply
from fencepost.machine.actions import Action, BeginStep, Claim, Create, SendEvent
from fencepost.machine.replies import Done

DEADLINE = 20.0
TESTS = Path(__file__).parent
RULES = Rules()
WORKFLOWS = Module(path=str(TESTS / "host_workflows.py"))


def moment(action: Action) -> Moment:
    return Moment(action.now, "i", action, Done(), (), None)


def test_the_newest_moments_are_kept_up_to_a_number() -> None:
    trace = Trace(moments=3)
    for now in range(5):
        trace.add(moment(Create(now, "i")), Vacant(RULES))
    assert [each.number for each in trace.after(0)] == [3, 4, 5]
    assert [each.number for each in trace.after(4)] == [5]
    assert [each.moment.at for each in trace.after(3)] == [3, 4]
    assert trace.after(5) == ()
    assert trace.last == 5


@pytest.mark.parametrize(
    "heavy",
    [
        Create(0, "i", b"x" * 50),
        SendEvent(0, "t" * 50, None),
        BeginStep(0, 1, "do", "n" * 50, {}),
        BeginStep(0, 1, "do", "n", {"retry": [{"k" * 25: ["v" * 25]}], "effect": True}),
    ],
)
def test_and_up_to_the_bytes_of_their_documents(heavy: Action) -> None:
    trace = Trace(bytes=130)
    for _ in range(4):
        trace.add(moment(heavy), Vacant(RULES))
    assert [each.number for each in trace.after(0)] == [3, 4]
    trace.add(moment(Create(0, "i", b"x" * 200)), Vacant(RULES))
    assert trace.after(0) == ()
    assert trace.last == 5


def test_a_moment_says_who_held_the_instance_after_it() -> None:
    trace = Trace()
    created = apply(Vacant(RULES), Create(0, "i")).state
    owned = apply(created, Claim(1, 1, "v1", 10)).state
    for slot in (Vacant(RULES), created, owned):
        trace.add(moment(Create(0, "i")), slot)
    assert [(each.owner, each.contexts) for each in trace.after(0)] == [(0, ()), (0, ()), (1, (1,))]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with Host(Export(WORKFLOWS, "Program"), env={"FOLDER": str(tmp_path)}) as host:
        yield host


def wait_for(host: Host, condition: Any) -> None:
    with host.lock:
        assert host.lock.wait_for(condition, DEADLINE)


def test_a_snapshot_does_not_change_and_its_moments_lead_to_it(host: Host) -> None:
    before = host.snapshot()
    handle = host.start({"do": "careful", "seconds": 60})
    wait_for(host, lambda: handle.status()["status"] == "sleeping")
    after = host.snapshot()
    assert (before.number, before.instances, before.processes) == (0, {}, {})
    assert list(after.instances) == [handle.id]
    assert list(after.instances[handle.id].history) == ["s"]
    assert after.processes == {}
    sightings = host.sightings()
    assert [each.number for each in sightings] == list(range(1, after.number + 1))
    names = [type(each.moment.action).__name__ for each in sightings]
    assert names == ["Create", "Claim", "BeginStep", "Park", "StopAck"]
    assert [each.moment.status for each in sightings][-1] == "sleeping"


def test_looking_leaves_no_moment_and_a_refusal_does(host: Host) -> None:
    handle = host.start({"do": "careful", "seconds": 60}, id="a")
    wait_for(host, lambda: handle.status()["status"] == "sleeping")
    last = host.snapshot().number
    handle.status()
    host.handle("a")
    assert host.sightings(last) == ()
    with pytest.raises(CallError):
        host.start(id="a")
    assert [each.moment.reply.refused for each in host.sightings(last)] == [True]


def test_a_process_is_shown_while_its_context_is_not_stopped(host: Host) -> None:
    handle = host.start({"do": "blocked_effect"})
    wait_for(host, lambda: host.snapshot().processes)
    ((id, token),) = host.snapshot().processes
    assert (id, token) == (handle.id, host.snapshot().instances[handle.id].owner)
    handle.terminate(DEADLINE)
    assert host.snapshot().processes == {}


def test_who_subscribes_is_woken_until_the_subscription_ends(host: Host) -> None:
    seen: list[int] = []
    unsubscribe = host.subscribe(lambda: seen.append(host.snapshot().number))
    handle = host.start({"do": "careful", "seconds": 60})
    wait_for(host, lambda: handle.status()["status"] == "sleeping")
    assert seen == list(range(1, host.snapshot().number + 1))
    unsubscribe()
    handle.terminate(DEADLINE)
    assert seen[-1] < host.snapshot().number


def test_the_end_is_seen(host: Host) -> None:
    woken: list[bool] = []
    host.subscribe(lambda: woken.append(host.snapshot().closed))
    host.close()
    host.until_closed()
    assert woken == [True]


@pytest.mark.parametrize(
    ("module", "name", "why"),
    [
        (WORKFLOWS, "Nothing", "has no workflow class Nothing; it has Program"),
        (WORKFLOWS, "Log", "has no workflow class Log; it has Program"),
        (Module(name="no_such_module"), "A", "cannot be evaluated: ModuleNotFoundError: No module named"),
        (Module(name="json"), "A", "has no workflow class A; it has no class with a method run"),
    ],
)
def test_a_class_that_is_not_there_is_refused_at_once(module: Module, name: str, why: str) -> None:
    with pytest.raises(CannotLoad, match=why):
        Host(Export(module, name))


def test_an_inherited_run_is_one_too(tmp_path: Path) -> None:
    file = tmp_path / "two.py"
    file.write_text("class One:\n    async def run(self, event, step): ...\nclass Two(One): ...\n")
    with pytest.raises(CannotLoad, match="it has One, Two"):
        Host(Export(Module(path=str(file)), "Three"))
    assert str(tmp_path) not in sys.path
