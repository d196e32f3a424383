"""The store against the machine: one stream of actions through both, and equal states after each of them.

Limits are small and every open point takes any of its choices. The store that acts believes what it has
cached; another one, as another process has it, must read the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fencepost.durable import statements as sql
from fencepost.durable.codec import due_at
from fencepost.durable.store import Store
from fencepost.history import Entry, entries
from fencepost.machine import Latitude, Rules, Slot, Vacant, apply, status_of
from fencepost.machine.actions import (
    Action,
    BeginStep,
    Claim,
    Close,
    CommitAttempt,
    Crash,
    Create,
    EndLifetime,
    Expire,
    Get,
    OwnerAction,
    Park,
    Purge,
    ReadStatus,
    Renew,
    SendEvent,
    Settle,
    StopAck,
    Terminate,
    Unfit,
    Wake,
)
from fencepost.machine.state import Instance
from fencepost_spec.limits import Limits
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

LIMITS = Limits(
    document_bytes=64, inbox_events=2, inbox_bytes=40, maximum_steps=3, attempts_maximum=3,
    lifetime_seconds=12, retention_seconds=4,
)  # fmt: skip
LATITUDES = st.builds(
    Latitude, **{each.name: st.sampled_from(each.metadata["choices"]) for each in fields(Latitude)}
)
NAMES = ["a", "b", "\0\\0", "\U0001f600", "e", "", None]
STEPS: list[tuple[Any, dict[str, Any]]] = [
    ("do", {"effect": True}),
    ("do", {"effect": True, "retry": {"maxAttempts": 2}}),
    ("do", {"effect": True, "retry": {"maxAttempts": 3, "initialDelaySeconds": 2, "backoff": "exponential"}}),
    ("sleep", {"seconds": 3}),
    ("sleep", {"seconds": 0}),
    ("wait", {"type": "go", "timeoutSeconds": 3}),
    ("wait", {"type": "g\0", "timeoutSeconds": 1}),
]
DOCUMENTS = [None, b'{"result":1}', b"{}", Unfit.INVALID]
KINDS: list[type[Action]] = [
    Create, Get, ReadStatus, SendEvent, Terminate, Claim, Claim, Renew, BeginStep, BeginStep, BeginStep, Park,
    Park, CommitAttempt, CommitAttempt, Settle, StopAck, Crash, Expire, Wake, Wake, EndLifetime, Close, Purge,
]  # fmt: skip
STREAM = st.lists(
    st.tuples(
        st.integers(0, 23), st.integers(0, 60), st.integers(0, 60), st.sampled_from([0, 0, 0, 1000, 3000, 7])
    ),
    max_size=40,
)
uids = map("workflow-{}".format, count(1))


def action(slot: Slot, now: int, kind: type[Action], pick: int, other: int) -> Action:
    """An action of this kind, mostly by who may take it."""
    held = slot if isinstance(slot, Instance) else None
    tokens = [held.owner, held.owner, *(each.token for each in held.contexts)] if held else [1]
    token = tokens[pick % len(tokens)] if pick % 7 else pick
    document = DOCUMENTS[other % len(DOCUMENTS)]
    if kind is Create:
        return Create(now, "id\0", document)
    if kind is SendEvent:
        return SendEvent(now, ["go", "g\0", "x"][pick % 3], document, 8 + other % 20)
    if kind is Claim:
        return Claim(
            now, (held.token if held else 0) + 1, ["v1", "v\\2"][pick % 2], now + [5000, 900][other % 2]
        )
    if kind is Renew:
        return Renew(now, token, now + 100 * other)
    if kind is BeginStep:
        step, arguments = STEPS[other % len(STEPS)]
        return BeginStep(now, token, step, NAMES[pick % len(NAMES)], arguments)
    if kind is CommitAttempt:
        return CommitAttempt(now, token, document, failed=other % 3 == 0)
    if kind is Settle:
        return Settle(now, token, document, threw=pick % 2 == 0)
    return kind(now, token) if issubclass(kind, OwnerAction) else kind(now)


@pytest.fixture(
    scope="module", params=["file", "memory", pytest.param("postgresql", marks=pytest.mark.postgresql)]
)
def stores(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Store, Store]]:
    """A store that acts, and one that looks on: the same one where there is only one."""
    places: dict[str, str | Path] = {
        "file": tmp_path_factory.mktemp("store") / "fencepost.db",
        "memory": ":memory:",
        "postgresql": os.environ.get("FENCEPOST_POSTGRES", ""),
    }
    place = places[request.param]
    acting = Store(place)
    other = Store(place) if request.param != "memory" else acting
    yield acting, other
    acting.close()
    other.close()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(latitude=LATITUDES, stream=STREAM)
def test_the_store_and_the_machine_go_the_same_way(
    stores: tuple[Store, Store], latitude: Latitude, stream: list[tuple[int, int, int, int]]
) -> None:
    acting, other = stores
    acting.rules = other.rules = rules = Rules(LIMITS, latitude)
    key, now = (next(uids), "id\0"), 1_000_000
    slot: Slot = Vacant(rules)
    told: list[Entry] = []
    for which, pick, more, step in [(0, 0, 1, 0), *stream]:
        now += step
        made = action(slot, now, KINDS[which], pick, more)
        expected = apply(slot, made)
        applied = acting.perform(key, lambda _, made=made: made)  # type: ignore[misc]
        assert applied.transition == expected
        begins = isinstance(made, Create) and expected.state is not slot
        told = [*([] if begins else told), *entries(slot, made, expected)]
        slot = expected.state
        history = other.history(key)
        assert (history.entries if history is not None else None) == (
            told if isinstance(slot, Instance) else None
        )
        assert history is None or history.committed_twice() == []  # GRT-3
        assert acting.slot(key) == slot
        assert other.slot(key) == slot
        derived_columns_follow(other, key, slot, now)


def derived_columns_follow(store: Store, key: tuple[str, str], slot: Slot, now: int) -> None:
    """What stands in a row for the sake of an index is what the machine says."""
    columns = (sql.instances.c.number, sql.instances.c.status, sql.instances.c.due_at)
    found = store.rows(select(*columns).where(sql.instances.c.uid == key[0]))
    if not isinstance(slot, Instance):
        assert found == []
        return
    number, status, due = found[0]
    assert status == status_of(slot)
    if due is not None and due <= now:
        assert due_at(slot, now) == now
    else:
        assert due == due_at(slot, now)
    fenced = store.rows(
        select(sql.contexts.c.token, sql.contexts.c.fenced).where(sql.contexts.c.instance == number)
    )
    assert {token: bool(is_fenced) for token, is_fenced in fenced} == {
        each.token: each.token != slot.owner for each in slot.contexts
    }
