"""The model of a picture: what stands in which lane and row, from either source, and what is folded."""

from __future__ import annotations

from typing import Any

import pytest
from fencepost_conformance import scenario as scenarios
from fencepost_conformance.hosts.reference import ReferenceAdapter
from fencepost_conformance.report import entries, observed
from fencepost_conformance.report.picture import MOST_ROWS, Deadline, Lane, Picture, Row, Sketch
from fencepost_conformance.results import Difference
from fencepost_conformance.scenario import Scenario

from . import broken_hosts
from .failing_runs import pictured

SECOND = 1000


def scenario(program: list[dict[str, Any]], *schedule: dict[str, Any]) -> Scenario:
    return Scenario(
        "T/one",
        {
            "format": scenarios.FORMAT,
            "title": "One",
            "clauses": ["WFE-5"],
            "programs": {"main": program},
            "schedule": list(schedule),
        },
    )


def marks(picture: Picture, kind: str) -> list[tuple[str, int]]:
    """The lane's title and the instant of each mark of a kind."""
    titles = {lane.key: lane.title for lane in picture.lanes}
    return [(titles[mark.lane], picture.rows[mark.row].at) for mark in picture.marks if mark.kind == kind]


def spans(picture: Picture, lane: str) -> list[str]:
    titles = {each.key: each.title for each in picture.lanes}
    return [span.kind for span in picture.spans if titles[span.lane] == lane]


WAIT = scenario(
    [{"do": "a", "effect": {"value": {}}}, {"wait": "w", "type": "go", "timeoutSeconds": 5}, {"return": {}}],
    {"create": "i", "program": "main"},
    {"settle": True},
    {"status": "i", "expect": {"status": "waiting"}},
    {"advance": 5},
    {"sendEvent": "i", "type": "go", "payload": {"k": 1}},
    {"settle": True},
    {"status": "i", "expect": {"status": "complete"}},
)


def test_a_trace_gives_a_lane_to_each_instance_and_owner_with_their_spans() -> None:
    picture = pictured(ReferenceAdapter, WAIT)
    assert [(lane.kind, lane.title) for lane in picture.lanes] == [
        ("caller", "caller"),
        ("instance", "i"),
        ("owner", "owner 1"),
        ("owner", "owner 2"),
    ]
    assert spans(picture, "i") == ["queued", "running", "waiting", "running", "complete"]
    assert spans(picture, "owner 1") == ["owner", "effect", "fenced"]
    assert marks(picture, "stopped") == [("owner 1", 0), ("owner 2", 5 * SECOND)]


def test_a_deadline_is_a_row_before_all_else_at_its_instant_and_an_event_is_an_arrow_to_its_instance() -> (
    None
):
    picture = pictured(ReferenceAdapter, WAIT)
    assert marks(picture, "deadline") == [("i", 5 * SECOND)]
    at_five = [row.kind for row in picture.rows if row.at == 5 * SECOND]
    assert at_five[0] == "deadline"
    (event,) = [arrow for arrow in picture.arrows if arrow.kind == "event"]
    row = picture.rows[event.row]
    assert (row.label, row.entry, row.at) == ('sendEvent i "go" {"k": 1}', 4, 5 * SECOND)
    assert "handed over" in row.answer


def test_a_deadline_that_nothing_waits_for_any_more_is_not_drawn() -> None:
    early = [*WAIT.schedule[:3], *WAIT.schedule[4:], {"advance": 60}, {"settle": True}]
    for trace in (True, False):
        picture = pictured(ReferenceAdapter, Scenario("T", {**WAIT.document, "schedule": early}), trace=trace)
        assert marks(picture, "deadline") == []


def test_a_broken_host_shows_the_status_before_the_stop_and_the_observation_is_marked() -> None:
    picture = pictured(broken_hosts.terminated_too_early, scenarios.load("TRM/an-unproven-stop"))
    wrong = [picture.rows[index] for index in picture.wrong_rows]
    assert wrong
    assert all(row.wrong[0].at == f"schedule[{row.entry}]" for row in wrong)
    assert ("i", wrong[0].at) in marks(picture, "wrong")
    fenced = next(span for span in picture.spans if span.kind == "fenced")
    terminated = next(span for span in picture.spans if span.kind == "terminated")
    assert terminated.begin < fenced.end  # visible while the code still runs: that is what is wrong


def test_a_picture_of_a_foreign_host_presumes_no_more_than_was_seen() -> None:
    picture = pictured(ReferenceAdapter, WAIT, trace=False)
    assert [lane.title for lane in picture.lanes] == ["caller", "i"]
    assert [(span.kind, span.certain) for span in picture.spans] == [
        ("created", False),
        ("waiting", False),
        ("complete", True),
    ]
    assert marks(picture, "seen") == [("i", 0), ("i", 5 * SECOND)]
    assert marks(picture, "deadline") == [("i", 5 * SECOND)]
    assert [row.entry for row in picture.rows if row.entry is not None] == list(range(7))


def test_effects_that_were_counted_lie_somewhere_between_two_looks_at_the_journal() -> None:
    counting = scenario(
        [{"sleep": "s", "seconds": 9}, {"do": "b", "effect": {"value": {}}}],
        {"create": "i", "program": "main"},
        {"settle": True},
        {"effects": {"b": 0}},
        {"kill": "i", "at": "effect-start:b"},
        {"advance": 9},
        {"recover": True},
        {"settle": True},
        {"effects": {"b": {"atLeast": 1}}},
    )
    picture = pictured(ReferenceAdapter, counting, trace=False)
    (effect,) = [span for span in picture.spans if span.kind == "effect"]
    assert (effect.label, effect.certain) == ("b ×2", False)
    begin, end = picture.rows[effect.begin], picture.rows[effect.end]
    assert (begin.label, end.label) == ("effects of b", "effects of b")
    assert end.at == (9 + 31) * SECOND
    assert marks(picture, "killed") == [("owners", 0)]


def test_a_killed_owner_is_told_from_one_that_was_stopped() -> None:
    killed = scenario(
        [{"do": "a", "effect": {"value": {}}}],
        {"kill": "i", "at": "effect-end:a"},
        {"create": "i", "program": "main"},
        {"settle": True},
        {"recover": True},
    )
    picture = pictured(ReferenceAdapter, killed)
    assert [lane for lane, _ in marks(picture, "killed")] == ["owner 1"]
    assert [lane for lane, _ in marks(picture, "stopped")] == ["owner 2"]


def test_a_refused_call_is_a_refused_arrow() -> None:
    refused = scenario([], {"get": "nobody", "expect": {"error": "unknown_instance"}})
    for trace in (True, False):
        picture = pictured(ReferenceAdapter, refused, trace=trace)
        assert [arrow.kind for arrow in picture.arrows] == ["refused"]
        assert picture.rows[0].answer == "rejected: unknown_instance"


def test_many_owners_share_lanes_and_many_rows_are_folded_around_what_is_wrong() -> None:
    looping = scenario(
        [{"repeat": 30, "index": "n", "ops": [{"sleep": "s${n}", "seconds": 1}]}, {"return": {}}],
        {"create": "i", "program": "main"},
        *[{"advance": 1}, {"settle": True}] * 31,
        {"status": "i", "expect": {"status": "errored"}},
    )
    picture = pictured(ReferenceAdapter, looping)
    assert len(picture.rows) <= MOST_ROWS
    assert sum(lane.kind == "owner" for lane in picture.lanes) <= 6
    assert any(row.kind == "fold" and "left out" in row.label for row in picture.rows)
    assert picture.rows[-1].wrong
    last = len(picture.rows)
    assert all(0 <= span.begin <= span.end < last for span in picture.spans)
    assert all(mark.row < last for mark in picture.marks)


def test_a_sketch_that_is_empty_is_a_picture_without_rows() -> None:
    assert Sketch().picture("nothing", "none").rows == ()


def test_a_deadline_between_two_instants_gets_an_instant_of_its_own() -> None:
    sketch = Sketch()
    sketch.lane(Lane("i", "instance", "i"))
    for at in (0, 10):
        sketch.row(Row(at, "entry", str(at)))
    sketch.deadlines = [Deadline("i", 4, "in time", 0), Deadline("i", 40, "never", 0)]
    assert [(row.at, row.kind) for row in sketch.picture("t", "s").rows] == [
        (0, "entry"),
        (4, "deadline"),
        (10, "entry"),
    ]


def test_without_a_clock_the_instants_are_real() -> None:
    plain = scenario([], {"create": "i", "program": "main"}, {"status": "i"})
    seen = [observed.Observation(0, "create", observed.Answer("i"), 0.0, 0.25)]
    seen.append(observed.Observation(1, "status", observed.Answer({"status": "queued"}), 0.25, 1.5))
    difference = Difference("STA-1", "schedule[1]", 1, 2, "m")
    picture = observed.picture(plain, seen, [difference], has_clock=False)
    assert [row.at for row in picture.rows] == [250, 1500]


@pytest.mark.parametrize(
    ("milliseconds", "length", "moment"),
    [
        (0, "0 s", "0 s"),
        (1, "1 ms", "0.001 s"),
        (59_999, "59.999 s", "59.999 s"),
        (60_000, "1 min", "60 s"),
        (5_500, "5.5 s", "5.5 s"),
        (2_591_999_000, "29 d 23 h 59 min 59 s", "2,591,999 s"),
        (31_536_000_001, "365 d 1 ms", "31,536,000.001 s"),
        (10_000, "10 s", "10 s"),
    ],
)
def test_instants_and_lengths_are_exact(milliseconds: int, length: str, moment: str) -> None:
    assert entries.duration(milliseconds) == length
    assert entries.instant(milliseconds) == moment
