"""What happened in one scenario, as a picture before anybody has decided how it looks.

Time runs downwards, one row for each thing that happened, so that every row has room for its words. A
*lane* is a column: the caller's, one for each instance, one for each owner. A *span* fills a lane from one
row to another (a status, an owner's life, an effect); a *mark* and an *arrow* stand in one row. Every row
has its instant in milliseconds. Rows of one instant stand close together, and what lies between two
instants is idle, however long it was: a renderer draws it as a break and labels it.

A deadline is a row of its own, before everything else that happened at its instant. It is drawn only while
something still waited for it. Deadlines are known before their instants come, so a `Sketch` keeps them
apart until it is finished.

A picture of a thousand steps is no picture: rows far from both ends and from what went wrong are folded
into one that says how many they were.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from ..results import Difference

LaneKind = Literal["caller", "instance", "owner"]
RowKind = Literal["entry", "move", "deadline", "fold"]
ArrowKind = Literal["event", "call", "refused"]
MarkKind = Literal["wrong", "killed", "paused", "stopped", "deadline", "seen", "refused"]

MOST_ROWS = 110
_HEAD, _TAIL, _AROUND = 24, 12, 20  # rows that are never folded: at both ends, and around what went wrong


@dataclass(frozen=True)
class Lane:
    """A column; `title` names it in full, `owner_of` is the lane of the instance that an owner runs."""

    key: str
    kind: LaneKind
    title: str
    owner_of: str = ""


@dataclass(frozen=True)
class Row:
    """One thing that happened, at an instant in milliseconds; `entry` is its place in the schedule."""

    at: int
    kind: RowKind
    label: str
    answer: str = ""
    entry: int | None = None
    wrong: tuple[Difference, ...] = ()
    clauses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Span:
    """Something that lasted from one row to another; not `certain` where only its ends were seen."""

    lane: str
    kind: str
    label: str
    begin: int
    end: int
    open_ended: bool = False
    certain: bool = True


@dataclass(frozen=True)
class Mark:
    """A point in a lane."""

    lane: str
    row: int
    kind: MarkKind
    label: str = ""


@dataclass(frozen=True)
class Arrow:
    """Something that went from one lane to another."""

    row: int
    source: str
    target: str
    kind: ArrowKind


@dataclass(frozen=True)
class Picture:
    """All of it; `source` says in one sentence what it was drawn from."""

    title: str
    source: str
    lanes: tuple[Lane, ...]
    rows: tuple[Row, ...]
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()
    arrows: tuple[Arrow, ...] = ()

    @property
    def wrong_rows(self) -> tuple[int, ...]:
        """The rows in which something else was seen than was expected."""
        return tuple(index for index, row in enumerate(self.rows) if row.wrong)


@dataclass
class Deadline:
    """An instant that something waits for, from the row `since` on, until it is `over` in a row."""

    lane: str
    at: int
    label: str
    since: int
    over: int | None = None


@dataclass
class Sketch:
    """A picture in the making: everything refers to the rows by the order in which they were added."""

    rows: list[Row] = field(default_factory=list)
    lanes: dict[str, Lane] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    deadlines: list[Deadline] = field(default_factory=list)
    _open: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """The row that was added last; -1 before the first."""
        return len(self.rows) - 1

    def row(self, row: Row) -> int:
        """Add a row."""
        self.rows.append(row)
        return self.last

    def lane(self, lane: Lane) -> str:
        """Add a lane if it is not there yet, and return its key."""
        return self.lanes.setdefault(lane.key, lane).key

    def begin(self, lane: str, kind: str, label: str, slot: str = "", certain: bool = True) -> None:
        """A span begins in the last row, and ends what was in its slot of the lane."""
        self.end(lane, slot)
        self._open[lane, slot] = len(self.spans)
        row = max(self.last, 0)
        self.spans.append(Span(lane, kind, label, row, row, open_ended=True, certain=certain))

    def end(self, lane: str, slot: str = "") -> None:
        """What is in a slot of a lane ends in the last row."""
        index = self._open.pop((lane, slot), None)
        if index is not None:
            self.spans[index] = replace(self.spans[index], end=max(self.last, 0), open_ended=False)

    def between(self, lane: str, kind: str, label: str, since: int) -> None:
        """Something that began somewhere between the row `since` and the last one."""
        self.spans.append(Span(lane, kind, label, since, max(self.last, 0), certain=False))

    def inside(self, lane: str, slot: str = "") -> Span | None:
        """What is in a slot of a lane now."""
        index = self._open.get((lane, slot))
        return None if index is None else self.spans[index]

    def nothing_waits(self, lane: str) -> None:
        """From the last row on, nothing waits for a deadline of this lane."""
        for deadline in self.deadlines:
            if deadline.lane == lane and deadline.over is None:
                deadline.over = self.last

    def mark(self, lane: str, kind: MarkKind, label: str = "") -> None:
        """A mark in the last row."""
        self.marks.append(Mark(lane, max(self.last, 0), kind, label))

    def picture(self, title: str, source: str) -> Picture:
        """The picture, with its deadlines in place and what is too long folded."""
        spans = tuple(
            replace(span, end=max(self.last, 0)) if span.open_ended else span for span in self.spans
        )
        drawn = Picture(
            title,
            source,
            _ordered(self.lanes.values()),
            tuple(self.rows),
            spans,
            tuple(self.marks),
            tuple(self.arrows),
        )
        return _folded(_with_deadlines(drawn, self.deadlines))


def _ordered(lanes: Iterable[Lane]) -> tuple[Lane, ...]:
    """The caller first, and every instance followed by its owners."""
    everything = list(lanes)
    ordered = [lane for lane in everything if lane.kind == "caller"]
    for lane in everything:
        if lane.kind == "instance":
            ordered.append(lane)
            ordered.extend(each for each in everything if each.owner_of == lane.key)
    return tuple(ordered)


def _with_deadlines(picture: Picture, deadlines: Iterable[Deadline]) -> Picture:
    """Insert a row for each deadline that something still waited for when its instant came."""
    rows = picture.rows
    ends_at = rows[-1].at if rows else 0
    due: dict[int, list[Deadline]] = {}
    for deadline in sorted(deadlines, key=lambda each: each.at):
        over_at = ends_at if deadline.over is None else rows[deadline.over].at
        if deadline.at <= over_at and deadline.at > rows[deadline.since].at:
            place = next(index for index, row in enumerate(rows) if row.at >= deadline.at)
            due.setdefault(place, []).append(deadline)
    if not due:
        return picture
    made: list[Row] = []
    marks: list[Mark] = []
    moved: dict[int, int] = {}
    for index, row in enumerate(rows):
        for deadline in due.get(index, ()):
            marks.append(Mark(deadline.lane, len(made), "deadline", deadline.label))
            made.append(Row(deadline.at, "deadline", deadline.label))
        moved[index] = len(made)
        made.append(row)
    return _moved(replace(picture, rows=tuple(made)), moved, tuple(marks))


def _folded(picture: Picture) -> Picture:
    """Fold the rows that are far from both ends and from everything that went wrong."""
    count = len(picture.rows)
    if count <= MOST_ROWS:
        return picture
    kept = {*range(_HEAD), *range(count - _TAIL, count)}
    for wrong in picture.wrong_rows[:2]:
        kept.update(range(max(0, wrong - _AROUND), min(count, wrong + _AROUND // 2)))
    rows: list[Row] = []
    moved: dict[int, int] = {}
    folded = 0
    for index, row in enumerate(picture.rows):
        if index in kept:
            folded = 0
            rows.append(row)
        else:
            folded += 1
            if folded == 1:
                rows.append(row)
            wrong_here = rows[-1].wrong if folded > 1 else ()
            text = f"{folded:,} more {'row' if folded == 1 else 'rows'}, left out here"
            rows[-1] = Row(row.at, "fold", text, wrong=wrong_here + row.wrong)
        moved[index] = len(rows) - 1

    def shown(row: int) -> bool:
        return rows[moved[row]].kind != "fold"

    left = replace(
        picture,
        rows=tuple(rows),
        spans=tuple(
            span for span in picture.spans if moved[span.begin] < moved[span.end] or shown(span.begin)
        ),
        marks=tuple(mark for mark in picture.marks if shown(mark.row)),
        arrows=tuple(arrow for arrow in picture.arrows if shown(arrow.row)),
    )
    used = {span.lane for span in left.spans} | {mark.lane for mark in left.marks}
    lanes = tuple(lane for lane in left.lanes if lane.kind != "owner" or lane.key in used)
    return _moved(replace(left, lanes=lanes), moved, ())


def _moved(picture: Picture, moved: dict[int, int], marks: tuple[Mark, ...]) -> Picture:
    """Everything that refers to a row, referring to where it is now."""
    return replace(
        picture,
        spans=tuple(replace(span, begin=moved[span.begin], end=moved[span.end]) for span in picture.spans),
        marks=tuple(replace(mark, row=moved[mark.row]) for mark in picture.marks) + marks,
        arrows=tuple(replace(arrow, row=moved[arrow.row]) for arrow in picture.arrows),
    )
