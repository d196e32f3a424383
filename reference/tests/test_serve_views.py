"""What the page is sent: words for every action and reply, lives as spans, and frames that stay small."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import pytest
from fencepost.host.calls import Moment
from fencepost.host.observation import Sighting, Snapshot, Trace
from fencepost.machine import Rules, Slot, Vacant, apply, status_of
from fencepost.machine import actions as a
from fencepost.machine import replies as r
from fencepost.machine.state import MILLISECONDS, Failed, Instance, Succeeded
from fencepost.serve import wording
from fencepost.serve.board import MOST_CONTEXTS, MOST_INSTANCES, MOST_MOMENTS, Board, Viewer
from fencepost.serve.life import MOST_ROWS, life
from fencepost.serve.views import MOST_STEPS, detail, summary

RULES = Rules()
LEASE = 30 * MILLISECONDS


class FakeHost:
    """Keeps slots and a trace as a Host does, and runs nothing."""

    def __init__(self, moments: int = 10_000) -> None:
        self.trace = Trace(moments)
        self.slots: dict[str, Slot] = {}
        self.now = 0

    def do(self, id: str, *actions: a.Action) -> Instance:
        """Apply actions to one instance."""
        for action in actions:
            self.now = max(self.now, action.now)
            slot, reply, clauses = apply(self.slots.get(id, Vacant(RULES)), action)
            self.slots[id] = slot
            status = status_of(slot) if isinstance(slot, Instance) else None
            self.trace.add(Moment(action.now, id, action, reply, clauses, status), slot)
        found = self.slots[id]
        assert isinstance(found, Instance)
        return found

    def snapshot(self) -> Snapshot:
        """As a Host has it."""
        held = {id: slot for id, slot in self.slots.items() if isinstance(slot, Instance)}
        pids = {(id, each.token): 4000 + each.token for id, slot in held.items() for each in slot.contexts}
        return Snapshot(self.now, self.trace.last, held, pids, False)

    def sightings(self, after: int = 0) -> tuple[Sighting, ...]:
        """As a Host has it."""
        return self.trace.after(after)


def board(host: FakeHost) -> Board:
    return Board(host)  # type: ignore[arg-type]


def claim(now: int, token: int) -> a.Claim:
    return a.Claim(now, token, "v1", now + LEASE)


def do(now: int, token: int, name: str = "d", **retry: Any) -> a.BeginStep:
    return a.BeginStep(now, token, "do", name, {"effect": True} | ({"retry": retry} if retry else {}))


def spans(host: FakeHost) -> list[tuple[str, str, int, int | None]]:
    found = life(host.sightings())["spans"]
    return [(each["lane"], each["kind"], each["begin"], each["end"]) for each in found]


# -- words


def samples(base: type[Any]) -> Iterator[Any]:
    given = {
        "now": 1, "token": 2, "version": "v1", "lease_until": 9, "kind": "do", "name": "a name", "number": 3,
        "arguments": {"effect": True}, "id": "i", "type": "t", "status": "queued", "message": "why",
        "attempt": 4, "outcome": Succeeded(b"{}"), "why": "there is nothing to run",
    }  # fmt: skip
    for each in vars(a if base is a.Action else r).values():
        if isinstance(each, type) and issubclass(each, base) and each not in (base, a.OwnerAction):
            yield each(**{field.name: given[field.name] for field in fields(each) if field.name in given})


UNTOLD = (a.Get, a.ReadStatus, a.Renew)


@pytest.mark.parametrize("action", [*samples(a.Action)], ids=lambda each: type(each).__name__)
def test_every_action_that_is_traced_has_words_of_its_own(action: a.Action) -> None:
    _, words = wording.said(action)
    assert (words == type(action).__name__) is isinstance(action, UNTOLD)


@pytest.mark.parametrize("reply", [*samples(r.Reply)], ids=lambda each: type(each).__name__)
def test_every_reply_has_words_of_its_own(reply: r.Reply) -> None:
    assert (wording.answered(reply) == type(reply).__name__) is isinstance(reply, r.StatusAnswer)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (a.Create(0, "i", b'{"a":1}'), ("caller", 'create {"a":1}')),
        (a.Create(0, object(), None), ("caller", "create")),
        (a.SendEvent(0, "go", a.Unfit.INVALID), ("caller", 'sendEvent "go" (no document: invalid)')),
        (a.SendEvent(0, None), ("caller", "sendEvent NoneType")),
        (a.BeginStep(0, 1, "sleep", "s", {"seconds": 60}), ("owner", 'sleep "s" for 60 s')),
        (a.BeginStep(0, 1, "sleep", 5, {}), ("owner", "sleep int for NoneType s")),
        (
            a.BeginStep(0, 1, "wait", "w", {"type": "go", "timeoutSeconds": 5}),
            ("owner", 'wait "w" for "go", at most 5 s'),
        ),
        (a.CommitAttempt(0, 1, None), ("owner", "the effect returned")),
        (a.CommitAttempt(0, 1, None, True), ("owner", "the effect threw")),
        (a.Settle(0, 1, None, True, "step_failed"), ("owner", "run threw step_failed")),
    ],
)
def test_what_was_done_is_said_whatever_was_given(action: a.Action, words: tuple[str, str]) -> None:
    assert wording.said(action) == words


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"{}", "{}"),
        (b'"' + b"x" * 8 + b'"', '"xxxxxxxx"'),
        ("é".encode() * 10, "é" * 10),
        ("é".encode() * 11, "é" * 10 + "… (22 bytes)"),
        ("😀".encode() * 10, "😀" * 10),
        ("😀".encode() * 11, "😀" * 10 + "… (44 bytes)"),
        (b"x" * 2000, "x" * 10 + "… (2,000 bytes)"),
    ],
)
def test_a_long_document_is_cut_between_characters(data: bytes, shown: str) -> None:
    assert wording.document(data, 10) == shown


# -- a life


def test_a_life_with_a_sleep_is_two_contexts_and_five_statuses() -> None:
    host = FakeHost()
    host.do("i", a.Create(0, "i"), claim(0, 1), do(1, 1), a.CommitAttempt(2, 1, b"{}"))
    host.do("i", a.BeginStep(3, 1, "sleep", "s", {"seconds": 1}), a.Park(3, 1), a.StopAck(4, 1))
    host.do("i", a.Wake(1003), claim(1004, 2), a.Settle(1005, 2, b"{}"), a.StopAck(1006, 2))
    assert spans(host) == [
        ("status", "queued", 0, 1),
        ("status", "running", 1, 6),
        ("context", "owner", 1, 5),
        ("effect", "effect", 2, 3),
        ("context", "fenced", 5, 6),
        ("status", "sleeping", 6, 8),
        ("status", "running", 8, 10),
        ("context", "owner", 8, 9),
        ("context", "fenced", 9, 10),
        ("status", "complete", 10, None),
    ]
    drawn = life(host.sightings())
    assert [row["mark"] for row in drawn["rows"]] == [None] * 6 + [
        "stopped",
        "deadline",
        None,
        None,
        "stopped",
    ]
    assert (drawn["lanes"], drawn["left_out"]) == (1, 0)


def test_an_effect_ends_with_its_owner_and_late_words_are_marked() -> None:
    host = FakeHost()
    host.do("i", a.Create(0, "i"), claim(0, 1), do(1, 1, maxAttempts=2), a.Expire(LEASE))
    host.do("i", claim(LEASE, 2), a.CommitAttempt(LEASE + 1, 1, b"{}"), a.Crash(LEASE + 2, 1))
    drawn = life(host.sightings())
    assert drawn["lanes"] == 2
    lanes = [each for each in drawn["spans"] if each["lane"] != "status"]
    assert [(each["of"], each["kind"], each["begin"], each["end"]) for each in lanes] == [
        (0, "owner", 1, 3), (0, "effect", 2, 3), (0, "fenced", 3, 6), (1, "owner", 4, None),
    ]  # fmt: skip
    assert [row["mark"] for row in drawn["rows"]][5:] == ["refused", "died"]


def test_only_the_newest_moments_of_a_long_life_are_drawn() -> None:
    host = FakeHost()
    host.do("i", a.Create(0, "i"), *(a.SendEvent(now, "t", None, 12) for now in range(1, MOST_ROWS + 10)))
    drawn = life(host.sightings())
    assert (len(drawn["rows"]), drawn["left_out"]) == (MOST_ROWS, 10)
    assert drawn["spans"] == [{"lane": "status", "kind": "queued", "begin": 0, "end": None}]


# -- one instance


def test_a_summary_says_what_it_does_and_what_comes_next() -> None:
    host = FakeHost()
    host.do("i", a.Create(0, "i"), claim(0, 1))
    doing = {"name": "d", "kind": "do", "type": None, "failures": 0}
    assert summary(host.do("i", do(1, 1, maxAttempts=2, initialDelaySeconds=9)))["doing"] == doing
    shown = summary(host.do("i", a.CommitAttempt(2, 1, None, True), a.StopAck(3, 1)))
    assert shown["deadline"] == {"at": 9002, "what": "tries again"}
    assert (shown["doing"], shown["status"], shown["contexts"]) == (doing | {"failures": 1}, "sleeping", 0)
    shown = summary(host.do("i", a.Terminate(4)))
    assert (shown["doing"], shown["deadline"], shown["endedAt"], shown["reason"]) == (None, None, 4, None)


def test_the_record_of_an_instance_says_how_each_step_went() -> None:
    host = FakeHost()
    host.do("i", a.Create(0, "i", b'{"p":1}'), claim(0, 1), do(1, 1, "good", maxAttempts=3))
    host.do("i", a.CommitAttempt(2, 1, b'{"x":1}'), do(3, 1, "bad"), a.CommitAttempt(4, 1, None, True))
    late = {"type": "go", "timeoutSeconds": 1}
    instance = host.do("i", a.BeginStep(5, 1, "wait", "w", late), a.SendEvent(6, "note", b"{}", 30))
    shown = detail(instance, host.sightings())
    assert [(each["name"], each["outcome"], each["attempts"], each["most"]) for each in shown["history"]] == [
        ("good", "succeeded", 1, 3), ("bad", "step_failed", 1, 1), ("w", "pending", 0, None),
    ]  # fmt: skip
    assert (shown["history"][0]["document"], shown["params"]) == ('{"x":1}', '{"p":1}')
    assert [(each["number"], each["type"], each["payload"]) for each in shown["events"]] == [
        (1, "note", "{}")
    ]
    assert (shown["earlierSteps"], shown["laterEvents"], shown["inboxBytes"]) == (0, 0, 30)


def test_long_records_and_inboxes_are_cut_and_counted() -> None:
    host = FakeHost()
    host.do("i", a.Create(0, "i"), claim(0, 1))
    for number in range(MOST_STEPS + 3):
        host.do("i", do(1, 1, f"s{number}"), a.CommitAttempt(1, 1, None))
    instance = host.do("i", *(a.SendEvent(2, "t", None, 12) for _ in range(1024)))
    shown = detail(instance, host.sightings())
    assert (len(shown["history"]), shown["history"][0]["name"], shown["earlierSteps"]) == (
        MOST_STEPS,
        "s3",
        3,
    )
    assert len(shown["events"]) + shown["laterEvents"] == shown["inbox"] == 1024
    assert len(json.dumps(shown)) < 200_000


# -- frames


@dataclass(frozen=True)
class Filter:
    status: str = ""
    search: str = ""


def test_a_frame_has_what_is_new_and_the_next_one_only_what_has_changed() -> None:
    host = FakeHost()
    host.do("a", a.Create(0, "a"))
    host.do("b", a.Create(1, "b"), claim(2, 1))
    shown, viewer = board(host), Viewer()
    frame = shown.frame(viewer)
    assert (frame["order"], [each["id"] for each in frame["changed"]]) == (["b", "a"], ["b", "a"])
    assert (frame["counts"]["queued"], frame["counts"]["running"], frame["fitting"]) == (1, 1, 2)
    assert frame["contexts"] == [
        {"id": "b", "token": 1, "owner": True, "pid": 4001, "since": 2, "doing": None}
    ]  # fmt: skip
    assert [each["number"] for each in frame["moments"]] == [1, 2, 3]
    host.do("a", a.Terminate(5))
    shown.refresh()
    frame = shown.frame(viewer)
    assert (frame["order"], [each["id"] for each in frame["changed"]]) == (["b", "a"], ["a"])
    assert (frame["counts"]["queued"], frame["counts"]["terminated"]) == (0, 1)
    assert [each["number"] for each in frame["moments"]] == [4]
    shown.refresh()
    assert shown.frame(viewer)["changed"] == []


@pytest.mark.parametrize(
    ("wanted", "order"),
    [
        (Filter(), ["b1", "a2", "a1"]),
        (Filter("queued"), ["a2"]),
        (Filter("waiting"), []),
        (Filter("", "a"), ["a2", "a1"]),
        (Filter("terminated", "1"), ["b1", "a1"]),
        (Filter("terminated", "b"), ["b1"]),
    ],
)
def test_a_viewer_sees_what_fits_its_filter(wanted: Filter, order: list[str]) -> None:
    host = FakeHost()
    for id in ("a1", "a2", "b1"):
        host.do(id, a.Create(0, id))
    for id in ("a1", "b1"):
        host.do(id, a.Terminate(1))
    frame = board(host).frame(Viewer(wanted.status, wanted.search))
    assert (frame["order"], frame["fitting"]) == (order, len(order))


def test_thousands_of_instances_make_no_larger_frame() -> None:
    host = FakeHost(moments=50)
    shown = board(host)
    for number in range(3000):
        id = f"i{number}"
        host.do(id, a.Create(number, id), claim(number, 1), do(number, 1))
    shown.refresh()  # more happened than is kept of it
    frame = shown.frame(Viewer(looks_at="i7"))
    assert (len(frame["order"]), frame["fitting"], frame["counts"]["running"]) == (MOST_INSTANCES, 3000, 3000)
    assert frame["order"][0] == "i2999"
    assert (len(frame["contexts"]), frame["running"]) == (MOST_CONTEXTS, 3000)
    assert frame["contexts"][0]["id"] == "i2999"
    assert len(frame["moments"]) <= MOST_MOMENTS
    assert frame["detail"]["life"]["rows"] == []
    assert frame["detail"]["history"][0]["name"] == "d"
    assert len(json.dumps(frame)) < 200_000


def test_what_a_viewer_looks_at_is_sent_when_it_has_changed() -> None:
    host = FakeHost()
    shown, viewer = board(host), Viewer(looks_at="a")
    assert shown.frame(viewer)["detail"] is None
    host.do("a", a.Create(0, "a"))
    shown.refresh()
    assert shown.frame(viewer)["detail"]["id"] == "a"
    assert "detail" not in shown.frame(viewer)
    host.do("b", a.Create(0, "b"))
    shown.refresh()
    assert "detail" not in shown.frame(viewer)
    host.do("a", a.Terminate(1))
    shown.refresh()
    assert shown.frame(viewer)["detail"]["status"] == "terminated"


def test_contexts_keep_their_places_while_they_run() -> None:
    host = FakeHost()
    shown = board(host)
    for id in ("a", "b"):
        host.do(id, a.Create(0, id), claim(1, 1))
    shown.refresh()
    host.do("a", do(2, 1))
    shown.refresh()
    assert [each["id"] for each in shown.frame(Viewer())["contexts"]] == ["b", "a"]
    host.do("b", a.Crash(3, 1), claim(4, 2))
    shown.refresh()
    assert [(each["id"], each["token"], each["since"]) for each in shown.frame(Viewer())["contexts"]] == [
        ("b", 2, 4), ("a", 1, 1),
    ]  # fmt: skip
    assert MappingProxyType(shown._begun).keys() == {("a", 1), ("b", 1), ("b", 2)}
    host.do("b", a.Terminate(5), a.StopAck(5, 2))
    shown.refresh()
    assert shown._begun.keys() == {("a", 1)}


def test_failures_are_named_by_the_form() -> None:
    assert wording.recorded(Failed("wait_timeout")) == ("wait_timeout", "")
    assert wording.recorded(Succeeded(b'{"a":1}')) == ("succeeded", '{"a":1}')
    assert wording.recorded(None) == ("pending", "")
