"""A picture as SVG: one self-contained element, styled by the classes that the page defines.

Everything that may come from a Host or a file goes through `text`, which escapes it. Shapes carry titles, so
that a pointer resting on one shows what had no room.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping

from . import entries, facts
from .layout import CHARACTERS, HEAD, ROW, WRONG_LINE, Layout, Place, gap_height, lay_out
from .picture import Arrow, Mark, Picture, Row, Span

_CODE = re.compile(r"`([^`]+)`")
_LETTER = 6.4  # pixels, on average, of a label in a lane


def render(picture: Picture, key: str) -> str:
    """The SVG element; `key` is a word that no other picture of the page has."""
    layout = lay_out(picture)
    parts = [
        _opening(layout, key),
        f'<title id="{key}-title">Timeline: {text(picture.title)}</title>',
        f'<desc id="{key}-text">{text(description(picture))}</desc>',
        _HATCH.format(key=key),
        *_bands(picture, layout),
        *_heads(picture, layout),
        *_axis(picture, layout),
        *(_span(span, layout, key) for span in sorted(picture.spans, key=lambda span: span.kind == "effect")),
        *(_arrow(arrow, layout) for arrow in picture.arrows),
        *(_mark(mark, layout) for mark in picture.marks),
        *(_row(row, place, layout) for row, place in zip(picture.rows, layout.rows, strict=True)),
        "</svg>",
    ]
    return "\n".join(parts)


_HATCH = (
    '<defs><pattern id="{key}-hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><line class="hatch" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>'
)


def _opening(layout: Layout, key: str) -> str:
    size = f'width="{layout.width}" height="{layout.height}" viewBox="0 0 {layout.width} {layout.height}"'
    return (
        f'<svg class="timeline" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-labelledby="{key}-title {key}-text" {size}>'
    )


def text(value: str) -> str:
    """Text of anybody, escaped for an element or a quoted attribute."""
    return html.escape(facts.plain(value), quote=True)


def prose(value: str) -> str:
    """Text in which words between backticks are code."""
    return _CODE.sub(r"<code>\1</code>", text(value))


def description(picture: Picture) -> str:
    """The picture in words, for whoever cannot see it."""
    wrong = [
        f"at {entries.instant(row.at)}, {row.label}: {difference.message}"
        for row in picture.rows
        for difference in row.wrong
    ]
    lanes = ", ".join(lane.title for lane in picture.lanes)
    return f"{picture.source} Lanes: {lanes}. " + ("Wrong: " + "; ".join(wrong) + "." if wrong else "")


def cut(value: str, characters: int) -> str:
    """A text that is not longer than so many characters."""
    return value if len(value) <= characters else value[: max(characters - 1, 1)] + "…"


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


# Behind everything


def _bands(picture: Picture, layout: Layout) -> Iterator[str]:
    for row, place in zip(picture.rows, layout.rows, strict=True):
        if row.wrong:
            yield (
                f'<rect class="band-wrong" x="0" y="{_n(place.top)}" width="{layout.width}" '
                f'height="{_n(place.bottom - place.top)}"/>'
            )
        elif row.kind == "deadline":
            yield _line("deadline-rule", layout.axis, place.middle, layout.text - 8, place.middle)
    for left, width in layout.lanes.values():
        yield _line("lane-rule", left + width / 2, HEAD - 6, left + width / 2, layout.height - 4)


def _heads(picture: Picture, layout: Layout) -> Iterator[str]:
    for lane in picture.lanes:
        left, width = layout.lanes[lane.key]
        title = cut(facts.plain(lane.title), int((width - 4) / _LETTER))
        yield (
            f'<text class="head head-{lane.kind}" x="{_n(left + width / 2)}" y="{HEAD - 14}" '
            f'text-anchor="middle"><title>{text(lane.title)}</title>{text(title)}</text>'
        )
    for first in [lane for lane in picture.lanes if lane.kind == "instance"]:
        mine = [layout.lanes[lane.key] for lane in picture.lanes if first.key in (lane.key, lane.owner_of)]
        left, right = mine[0][0] + 4, mine[-1][0] + mine[-1][1] - 4
        yield f'<path class="head-rule" d="M{left} {HEAD - 30}H{right}"/>'
        yield f'<text class="head-kind" x="{left}" y="{HEAD - 35}">instance</text>'


def _axis(picture: Picture, layout: Layout) -> Iterator[str]:
    x, before = layout.axis - 10, None
    top, bottom = layout.rows[0].top if layout.rows else HEAD, layout.height - 8
    yield _line("axis", x, top, x, bottom)
    for row, place in zip(picture.rows, layout.rows, strict=True):
        if place.gap > 0:
            yield _break(x, place, layout)
        if row.at != before:
            yield f'<circle class="axis-dot" cx="{x}" cy="{_n(place.middle)}" r="3.5"/>'
            yield (
                f'<text class="instant" x="{x - 9}" y="{_n(place.middle + 4)}" text-anchor="end">'
                f"{text(entries.instant(row.at))}</text>"
            )
        before = row.at


def _break(x: float, place: Place, layout: Layout) -> str:
    """A time in which nothing happened: the axis is broken, and the gap says how long it was."""
    height = gap_height(place.gap)
    top, middle = place.top - height, place.top - height / 2
    zigzag = f"M{x} {_n(middle - 7)}l-5 3.5l10 3.5l-10 3.5l5 3.5"
    return (
        f'<rect class="gap" x="{layout.axis}" y="{_n(top + 3)}" width="{layout.text - layout.axis - 8}" '
        f'height="{_n(height - 6)}"/><path class="axis-break" d="{zigzag}"/>'
        f'<text class="passes" x="{layout.text}" y="{_n(middle + 4)}">{text(entries.duration(place.gap))} '
        "idle</text>"
    )


# In the lanes


def _span(span: Span, layout: Layout, key: str) -> str:
    left, width = layout.lanes[span.lane]
    begin, end = layout.rows[span.begin], layout.rows[span.end]
    inset, slim = (20, True) if span.kind == "effect" else (8, False)
    top = begin.middle - (6 if slim else 9)
    bottom = end.bottom if span.open_ended else end.middle - 9
    if slim and not span.open_ended:
        bottom = end.middle - 10
    height = max(bottom - top, 6)
    certain = "" if span.certain else " uncertain"
    shape = (
        f'<rect class="span span-{text(_class(span.kind))}{certain}" x="{left + inset}" y="{_n(top)}" '
        f'width="{width - 2 * inset}" height="{_n(height)}" rx="{4 if slim else 5}"'
    )
    if span.kind == "fenced":
        shape += f' style="fill:url(#{key}-hatch)"'
    label = ""
    if height >= 12:
        short = cut(facts.plain(span.label), int((width - 2 * inset - 4) / _LETTER))
        label = (
            f'<text class="span-text span-text-{text(_class(span.kind))}{certain}" '
            f'x="{_n(left + width / 2)}" y="{_n(top + min(height / 2, 9) + 4)}" text-anchor="middle">'
            f"{text(short)}</text>"
        )
    return f"<g><title>{text(span.label)}</title>{shape}/>{label}</g>"


STATUSES = frozenset({"queued", "running", "sleeping", "waiting", "complete", "errored", "terminated"})


def _class(kind: str) -> str:
    """A status that a Host made up has no class of its own."""
    return kind if kind in STATUSES | {"owner", "fenced", "effect", "created"} else "unknown"


def _arrow(arrow: Arrow, layout: Layout) -> str:
    y = layout.rows[arrow.row].middle
    begin, end = layout.centre(arrow.source), layout.lanes[arrow.target][0] + 8
    head = f"M{_n(end - 7)} {_n(y - 4)}L{_n(end)} {_n(y)}L{_n(end - 7)} {_n(y + 4)}"
    if arrow.kind == "refused":
        head = f"M{_n(end - 8)} {_n(y - 4)}l8 8m0 -8l-8 8"
    start = f'<circle class="arrow-start" cx="{_n(begin)}" cy="{_n(y)}" r="4"/>'
    closed = "z" if arrow.kind == "event" else ""
    return (
        f'<g class="arrow arrow-{arrow.kind}">{_line("shaft", begin, y, end - 3, y)}'
        f'<path class="tip" d="{head}{closed}"/>{start}</g>'
    )


def _mark(mark: Mark, layout: Layout) -> str:
    shape = _MARKS[mark.kind](*_spot(mark, layout))
    return f'<g class="mark mark-{mark.kind}"><title>{text(mark.label or mark.kind)}</title>{shape}</g>'


def _spot(mark: Mark, layout: Layout) -> tuple[float, float, float]:
    """The middle of a mark, and half the width of its lane."""
    return layout.centre(mark.lane), layout.rows[mark.row].middle, layout.lanes[mark.lane][1] / 2


def _wrong(x: float, y: float, half: float) -> str:
    corner = x + half - 14
    return (
        f'<rect class="ring" x="{_n(x - half + 3)}" y="{_n(y - ROW / 2 + 1)}" width="{_n(2 * half - 6)}" '
        f'height="{ROW - 2}" rx="6"/><circle class="disc" cx="{_n(corner + 8)}" cy="{_n(y - 8)}" r="7"/>'
        f'<path class="cross" d="M{_n(corner + 5.2)} {_n(y - 10.8)}l5.6 5.6m0 -5.6l-5.6 5.6"/>'
    )


_MARKS: Mapping[str, Callable[[float, float, float], str]] = {
    "wrong": _wrong,
    "killed": lambda x, y, half: f'<path d="M{_n(x - 6)} {_n(y - 6)}l12 12m0 -12l-12 12"/>',
    "refused": lambda x, y, half: f'<path d="M{_n(x - 6)} {_n(y - 6)}l12 12m0 -12l-12 12"/>',
    "paused": lambda x, y, half: f'<path d="M{_n(x - 4)} {_n(y - 6)}v12m8 -12v12"/>',
    "stopped": lambda x, y, half: f'<rect x="{_n(x - 5)}" y="{_n(y - 5)}" width="10" height="10" rx="1"/>',
    "deadline": lambda x, y, half: (
        f'<path d="M{_n(x - half + 2)} {_n(y)}h{_n(2 * half - 4)}M{_n(x - half + 2)} {_n(y - 5)}v10'
        f'm{_n(2 * half - 4)} -10v10"/>'
    ),
    "seen": lambda x, y, half: f'<circle cx="{_n(x - half + 8)}" cy="{_n(y)}" r="4.5"/>',
}


# Words


def _row(row: Row, place: Place, layout: Layout) -> str:
    number = "" if row.entry is None else f"[{row.entry}] "
    room = CHARACTERS - len(number)
    said, answer = facts.plain(row.label), facts.plain(row.answer)
    label = cut(said, room if not answer else max(room * 2 // 3, room - len(answer) - 3))
    answer = cut(answer, room - len(label) - 3) if answer else ""
    full = f"{row.label} → {row.answer}" if row.answer else row.label
    title = full + (f" ({', '.join(row.clauses)})" if row.clauses else "")
    y = place.middle + 4
    parts = [
        f'<g class="row row-{row.kind}"><title>{text(title)}</title><text x="{layout.text}" y="{_n(y)}">',
        f'<tspan class="number">{number}</tspan>' if number else "",
        f'<tspan class="label">{text(label)}</tspan>',
        f'<tspan class="answer"> → {text(answer)}</tspan>' if answer else "",
        "</text>",
    ]
    for index, line in enumerate(place.lines):
        strong = " said" if index == 0 else ""
        below = _n(y + WRONG_LINE * (index + 1) + 1)
        parts.append(f'<text class="wrong-line{strong}" x="{layout.text}" y="{below}">{text(line)}</text>')
    return "".join(parts) + "</g>"


def _line(name: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{name}" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"/>'
