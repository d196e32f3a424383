"""The typed history, and commands: the same of every Host that keeps them, in memory or in a database."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fencepost.durable import statements as sql
from fencepost.durable.host import DurableHost
from fencepost.durable.store import Store
from fencepost.history import Entry, History, document
from fencepost.host.calls import CallError
from fencepost.host.engine import Engine
from fencepost.host.virtual import VirtualHost
from fencepost.machine import Rules
from fencepost.machine.actions import (
    Action,
    BeginStep,
    Claim,
    CommitAttempt,
    Expire,
    Park,
    SendEvent,
    Settle,
    StopAck,
    Wake,
)
from fencepost.machine.state import Instance
from fencepost_spec.schemas import problems
from sqlalchemy import select

HOSTS = ("memory", "sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql))
LEASE = 1000


class Still(VirtualHost):
    """A Host in memory that runs nothing by itself."""

    def run(self) -> None:
        """Whoever plays with it does."""


class Played:
    """A Host, and its instants."""

    def __init__(self, host: Engine, store: Store | None) -> None:
        self.host, self.store, self.now = host, store, 0

    def act(self, action: Action) -> None:
        """Apply one action to the instance `i`."""
        key = (self.host.uid, "i")
        if self.store is None:
            self.host.perform(key, action)
        else:
            self.store.perform(key, lambda _: action)

    def told(self) -> dict[str, Any]:
        """The history of `i`, without what tells one Host from the other."""
        shown = document(self.host.history("i"))
        assert problems("history", shown) == []
        return shown


@pytest.fixture(params=HOSTS)
def played(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Played]:
    if request.param == "memory":
        yield Played(Still({}, {}), None)
        return
    sqlite = request.param == "sqlite"
    place = str(tmp_path / "fencepost.db") if sqlite else os.environ["FENCEPOST_POSTGRES"]
    store = Store(place)
    host = DurableHost(store, f"workflow-{uuid.uuid4()}")
    yield Played(host, store)
    store.close()


def lines(told: dict[str, Any], key: str, *shown: str) -> list[tuple[Any, ...]]:
    kind = {"records": "record", "deliveries": "delivery"}[key]
    return [tuple(each.get(name) for name in (kind, *shown)) for each in told[key]]


DO = {"effect": True, "retry": {"maxAttempts": 2}}


def everything(played: Played) -> None:
    """A life with each kind of entry."""
    for action in (
        Claim(0, 1, "v1", LEASE),
        BeginStep(1, 1, "do", "a", DO),
        Expire(LEASE),
        Claim(LEASE, 2, "v2", 2 * LEASE),
        BeginStep(LEASE, 2, "do", "a", DO),
        CommitAttempt(1001, 1, b"{}"),
        CommitAttempt(1002, 2, failed=True),
        Claim(1003, 3, "v2", 2 * LEASE),
        BeginStep(1003, 3, "do", "a", DO),
        CommitAttempt(1004, 3, b"{}"),
        BeginStep(1004, 3, "sleep", "s/1", {"seconds": 1}),
        Park(1004, 3),
        Wake(2004),
        Claim(2004, 4, "v2", 9 * LEASE),
        BeginStep(2004, 4, "wait", "w", {"type": "go", "timeoutSeconds": 1}),
        Park(2004, 4),
        SendEvent(2005, "go", None, 13),
        Claim(2005, 5, "v2", 9 * LEASE),
        BeginStep(2005, 5, "wait", "late", {"type": "go", "timeoutSeconds": 1}),
        Park(2005, 5),
        Wake(3006),
        Claim(3006, 6, "v2", 9 * LEASE),
        Settle(3007, 6, b"{}"),
        *(StopAck(3008, token) for token in range(1, 7)),
    ):
        played.act(action)


def test_every_kind_is_told_under_stable_identities(played: Played) -> None:
    played.host.create("i", {"n": 1})
    everything(played)
    told = played.told()
    run = told["run"]
    assert told["status"] == "complete"
    assert lines(told, "records", "at", "owner", "attempt", "outcome", "settles", "event") == [
        ("attempt", 1002, 2, f"{run}/a/1", "failed", None, None),
        ("attempt", 1004, 3, f"{run}/a/2", "succeeded", True, None),
        ("sleep", 2004, None, None, None, None, None),
        ("event", 2005, None, None, None, None, 1),
        ("timeout", 3006, None, None, None, None, None),
        ("end", 3008, None, None, "complete", None, None),
    ]
    assert [each.get("execution") for each in told["records"]] == [
        f"{run}/a", f"{run}/a", f"{run}/s%2F1", f"{run}/w", f"{run}/late", None,
    ]  # fmt: skip
    assert lines(told, "deliveries", "at", "owner", "until", "number", "report")[:6] == [
        ("lease", 0, 1, LEASE, None, None),
        ("attempt", 1, 1, None, 1, None),
        ("expiry", LEASE, 1, LEASE, None, None),
        ("lease", LEASE, 2, 2 * LEASE, None, None),
        ("attempt", LEASE, 2, None, 1, None),
        ("late", 1001, 1, None, None, "result"),
    ]
    assert [(each["attempt"], each["deliveries"], each["outcome"]) for each in told["perhapsRepeated"]] == [
        (f"{run}/a/1", 2, "failed")
    ]
    assert told["perhapsRepeated"][0]["lateReport"] is True
    assert told["committedTwice"] == []


def test_an_attempt_that_is_given_up_is_told_and_one_under_way_is_not(played: Played) -> None:
    played.host.create("i")
    played.act(Claim(0, 1, "v1", LEASE))
    played.act(BeginStep(1, 1, "do", "a", DO))
    assert played.told()["perhapsRepeated"] == []
    played.act(Expire(LEASE))
    (told,) = played.told()["perhapsRepeated"]
    assert (told["number"], told["deliveries"], told["outcome"], told["lateReport"]) == (1, 1, None, False)


def test_no_history_of_an_instance_that_is_not_held(played: Played) -> None:
    with pytest.raises(CallError, match="unknown_instance"):
        played.host.history("i")


def test_two_outcomes_for_one_identity_are_counted() -> None:
    twice = Entry("attempt", 0, 1, "a", 1, "succeeded", settles=True)
    end = Entry("end", 0, outcome="complete", settles=True)
    told = History("u", 3, Instance(Rules(), "i", 0, 1), [twice, twice, end, end])
    assert told.committed_twice() == [
        {"identity": name, "outcomes": 2} for name in ("run-3/a/1", "run-3/a", "run-3")
    ]
    one = replace(told, entries=[twice, end])
    assert one.committed_twice() == []


# Commands


CALLS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "create": (lambda by: by.create("j", {"n": 1}), lambda by: by.create("j", {"n": 2})),
    "sendEvent": (lambda by: by.send_event("i", "go", {}), lambda by: by.send_event("i", "go")),
    "terminate": (lambda by: by.terminate("i"), lambda by: by.terminate("other")),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_command_sent_again_does_nothing_more_and_another_under_its_id_is_refused(
    played: Played, call: str
) -> None:
    host = played.host
    host.create("i")
    host.create("other")
    same, different = CALLS[call]
    first = same(host.under("c"))
    key = (host.uid, "j" if call == "create" else "i")
    state = host.slot(key)
    again = same(host.under("c"))
    assert call != "create" or again == first == "j"
    assert host.slot(key) == state
    with pytest.raises(CallError, match="command_conflict: the command id 'c' was used for another call"):
        different(host.under("c"))
    with pytest.raises(CallError, match="command_conflict"):
        host.under("c").create("k")
    assert host.slot(key) == state
    told = document(host.history(key[1]))
    assert [(each["command"], each["call"]) for each in told["commands"]] == [("c", call)]


def test_an_issued_id_is_given_again(played: Played) -> None:
    first = played.host.under("c").create()
    assert played.host.under("c").create() == first
    assert played.host.under("d").create() != first


def test_without_a_command_id_the_form_holds(played: Played) -> None:
    played.host.create("i")
    with pytest.raises(CallError, match="instance_exists"):
        played.host.create("i")
    played.host.send_event("i", "go")
    played.host.send_event("i", "go")
    state = played.host.slot((played.host.uid, "i"))
    assert isinstance(state, Instance)
    assert state.accepted == 2  # EVT-9


def test_a_refused_command_is_not_remembered(played: Played) -> None:
    with pytest.raises(CallError, match="unknown_instance"):
        played.host.under("c").send_event("i", "go")
    with pytest.raises(CallError, match="invalid_params"):
        played.host.under("c").create("i", {"n": object()})
    played.host.under("c").create("i")
    with pytest.raises(CallError, match="instance_exists"):
        played.host.under("d").create("i")
    played.host.under("d").send_event("i", "go")


@pytest.mark.parametrize("id", ["", "c" * 257, None, 3, "\ud800"])
def test_a_command_id_is_a_text_of_1_to_256_scalars(played: Played, id: Any) -> None:
    with pytest.raises(CallError, match="TypeError: command id"):
        played.host.under(id).create("i")


def test_a_terminate_sent_again_waits_for_the_same_end(played: Played) -> None:
    host = played.host
    host.create("i")
    played.act(Claim(0, 1, "v1", LEASE))
    first, again = host.under("c").terminate("i"), host.under("c").terminate("i")
    assert not first.done()
    assert not again.done()
    played.act(StopAck(1, 1))
    if isinstance(host, DurableHost):
        host.land()
    assert first.done()
    assert again.done()
    assert host.under("c").terminate("i").done()


def test_of_callers_at_the_same_time_one_creates_and_all_are_told_of_it(played: Played) -> None:
    if played.store is None:
        assert played.host.under("c").create() == played.host.under("c").create()
        return
    stores = [Store(played.store.url.render_as_string(False)) for _ in range(4)]
    together = threading.Barrier(len(stores))

    def create(store: Store) -> str:
        host = DurableHost(store, played.host.uid)
        together.wait()
        return host.under("c").create()

    with ThreadPoolExecutor(len(stores)) as pool:
        made = set(pool.map(create, stores))
    assert len(made) == 1
    held = sql.instances
    rows = played.store.rows(select(held.c.id).where(held.c.uid == played.host.uid))
    assert {row.id for row in rows} == made
    for store in stores:
        store.close()


def test_handles_take_command_ids(tmp_path: Path) -> None:
    host = DurableHost(tmp_path / "fencepost.db")
    handle = host.start({"n": 1}, command="c")
    assert host.start({"n": 1}, command="c").id == handle.id
    for _ in range(2):
        handle.send_event("go", command="e")
        handle.terminate(1, command="t")
    with pytest.raises(CallError, match="command_conflict"):
        handle.send_event("stop", command="e")
    assert [each.id for each in host.history(handle.id).commands] == ["c", "e", "t"]
    host.close()
