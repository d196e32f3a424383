"""The life of one instance as rows and spans, ready to be drawn.

A row is one moment. A span lies in a lane from one row to another: a status, a context that owns the instance
or is fenced and not yet stopped, an effect that runs. All of it is read from the moments and from what the
Host says held the instance after each; whoever draws it needs no rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.host.observation import Sighting
from fencepost.machine.actions import BeginStep, Crash, StopAck, Wake
from fencepost.machine.replies import Run
from fencepost.serve import wording

MOST_ROWS = 240
"""Moments of one life that are drawn, the newest ones."""

Span = dict[str, Any]


@dataclass
class _Drawing:
    spans: list[Span] = field(default_factory=list)
    open: dict[object, Span] = field(default_factory=dict)

    def begin(self, key: object, row: int, **about: Any) -> None:
        """Open a span, or go on with the one that is open and says the same."""
        if key in self.open and about.items() <= self.open[key].items():
            return
        self.end(key, row)
        self.open[key] = span = {"begin": row, "end": None, **about}
        self.spans.append(span)

    def end(self, key: object, row: int) -> None:
        """Close a span, if it is open."""
        if key in self.open:
            self.open.pop(key)["end"] = row


def row(sighting: Sighting) -> dict[str, Any]:
    """One moment in words."""
    moment = sighting.moment
    who, what = wording.said(moment.action)
    return {
        "number": sighting.number,
        "at": moment.at,
        "instance": wording.cut(moment.instance),
        "who": who,
        "what": what,
        "reply": wording.answered(moment.reply),
        "refused": moment.reply.refused,
        "status": moment.status,
        "clauses": list(moment.clauses),
        "token": getattr(moment.action, "token", None),
    }


def life(sightings: Sequence[Sighting]) -> dict[str, Any]:
    """The rows and spans of one instance's moments, and how many of them are too old to be shown."""
    shown = sightings[-MOST_ROWS:]
    drawing = _Drawing()
    lanes: dict[int, int] = {}
    most = 0
    for index, sighting in enumerate(shown):
        if sighting.moment.status is not None:
            drawing.begin("status", index, lane="status", kind=sighting.moment.status)
        _contexts(drawing, lanes, sighting, index)
        most = max(most, len(lanes))
        _effect(drawing, lanes, sighting, index)
    return {
        "rows": [{**row(each), "mark": _mark(each)} for each in shown],
        "spans": drawing.spans,
        "lanes": max(most, 1),
        "left_out": len(sightings) - len(shown),
    }


def _contexts(drawing: _Drawing, lanes: dict[int, int], sighting: Sighting, index: int) -> None:
    for token in [each for each in lanes if each not in sighting.contexts]:
        drawing.end(("effect", token), index)
        drawing.end(("context", token), index)
        del lanes[token]
    for token in sighting.contexts:
        lane = lanes.setdefault(token, _first_free(lanes))
        kind = "owner" if token == sighting.owner else "fenced"
        drawing.begin(("context", token), index, lane="context", of=lane, kind=kind, token=token)
        if kind == "fenced":
            drawing.end(("effect", token), index)


def _first_free(lanes: dict[int, int]) -> int:
    taken = set(lanes.values())
    return next(lane for lane in range(len(taken) + 1) if lane not in taken)


def _effect(drawing: _Drawing, lanes: dict[int, int], sighting: Sighting, index: int) -> None:
    """An effect runs from the call that was told to run it to its owner's next word."""
    action, reply = sighting.moment.action, sighting.moment.reply
    token = getattr(action, "token", None)
    if token not in lanes or sighting.moment.reply.refused:
        return
    drawing.end(("effect", token), index)
    if isinstance(action, BeginStep) and isinstance(reply, Run):
        label = wording.cut(str(action.name), 40) + (f" #{reply.attempt}" if reply.attempt > 1 else "")
        drawing.begin(("effect", token), index, lane="effect", of=lanes[token], kind="effect", label=label)


def _mark(sighting: Sighting) -> str | None:
    action = sighting.moment.action
    if sighting.moment.reply.refused:
        return "refused"
    return {StopAck: "stopped", Crash: "died", Wake: "deadline"}.get(type(action))
