"""Where the rows and lanes of a picture stand, in pixels of its own.

Rows are as high as their words need. Between two instants there is a gap that grows with the logarithm of
the time that passes, so that a millisecond and a year both fit, and the order of their lengths still shows.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from . import entries, facts
from .picture import LaneKind, Picture, Row

LEAST_AXIS, DIGIT = 60, 6.9
HEAD = 50
LANE: Mapping[LaneKind, int] = {"caller": 60, "instance": 100, "owner": 84}
ROW, WRONG_LINE, FOOT = 22, 16, 10
TEXT_GAP, TEXT = 16, 740
CHARACTERS = 84  # of a line of text; what is longer is cut, and shown in full as the row's title
_GAP, _GAP_STEP = 20, 6
_LONGEST = 6  # lines about one difference


@dataclass(frozen=True)
class Place:
    """A row: its edges, the middle of its first line, and what stands below its label."""

    top: float
    middle: float
    bottom: float
    gap: int = 0  # milliseconds that passed before it
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Layout:
    """All places; lanes are left edge and width."""

    rows: tuple[Place, ...]
    lanes: Mapping[str, tuple[int, int]]
    axis: int  # where the lanes begin; the instants stand to the left of it
    text: int
    width: int
    height: int

    def centre(self, lane: str) -> float:
        """The middle of a lane."""
        left, width = self.lanes[lane]
        return left + width / 2


def lay_out(picture: Picture) -> Layout:
    """The places of everything in a picture."""
    longest = max((len(entries.instant(row.at)) for row in picture.rows), default=0)
    axis = max(LEAST_AXIS, math.ceil(longest * DIGIT) + 26)
    lanes, x = {}, axis
    for lane in picture.lanes:
        lanes[lane.key] = (x, LANE[lane.kind])
        x += LANE[lane.kind]
    places, y, before = [], float(HEAD), None
    for row in picture.rows:
        gap = 0 if before is None else row.at - before
        y += gap_height(gap)
        lines = wrong_lines(row)
        bottom = y + ROW + WRONG_LINE * len(lines) + (6 if lines else 0)
        places.append(Place(y, y + ROW / 2, bottom, gap, lines))
        y, before = bottom, row.at
    text = x + TEXT_GAP
    return Layout(tuple(places), lanes, axis, text, text + TEXT, math.ceil(y) + FOOT)


def gap_height(milliseconds: int) -> float:
    """Pixels for a time in which nothing happened; 0 for none."""
    return 0 if milliseconds <= 0 else _GAP + _GAP_STEP * math.log10(1 + milliseconds)


def wrong_lines(row: Row) -> tuple[str, ...]:
    """What is said below a row in which something else was seen than was expected."""
    lines: list[str] = []
    for difference in row.wrong:
        said = [
            f"{difference.clause}: {facts.plain(difference.message)}",
            f"expected {facts.value(difference.expected)}",
        ]
        for text in said:
            lines.extend(textwrap.wrap(text, CHARACTERS, max_lines=2, placeholder=" …"))
    return tuple(lines[:_LONGEST])
