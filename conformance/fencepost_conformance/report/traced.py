"""A picture out of what a Host of ours did, moment by moment.

Each entry of the schedule is a row, and so is each move of an owner or of the Host that leads on; what a
caller's call did at once is part of the call's row. Owners get lanes of their own while there are few of
them; after that, a lane whose owner is stopped serves the next one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fencepost.machine import actions, replies
from fencepost.machine.state import Failed, Succeeded

from ..observations import Observation
from ..recording import Effect, Entered, Move, Recording
from ..results import Difference
from ..scenario import Scenario
from . import entries
from .picture import Arrow, Deadline, Lane, Picture, Row, Sketch

SOURCE = "Drawn from the Host's own trace: every move of the machine, in order."
CALLER = "caller"
OWN_LANES = 6  # owners that get a lane of their own

_BY_CALLERS = (actions.Create, actions.Get, actions.ReadStatus, actions.SendEvent, actions.Terminate)
_UNSHOWN = (actions.Renew,)


def picture(scenario: Scenario, recording: Recording, differences: Sequence[Difference]) -> Picture:
    """The picture of a recorded scenario, with the observations that differ marked."""
    return _Drawing(scenario, recording, differences).draw()


class _Drawing:
    def __init__(self, scenario: Scenario, recording: Recording, differences: Sequence[Difference]) -> None:
        self.scenario, self.recording = scenario, recording
        self.sketch = Sketch()
        self.wrong = entries.by_entry(differences, entries.place)
        self.seen: Mapping[int, Sequence[Observation]] = entries.by_entry(
            recording.observations, lambda each: each.index
        )
        self.entry: int | None = None  # the present entry, and the row in which it stands
        self.entry_row = 0
        self.refusals: Counter[str] = Counter()
        self.called_last: dict[tuple[str, int], tuple[str, Any]] = {}  # kind and name of an owner's step
        self.owner_lanes: dict[tuple[str, int], str] = {}
        self.stopped: list[str] = []  # lanes that are free again
        self.running: dict[tuple[str, str], str] = {}  # instance id and step -> lane whose effect it is
        self.waiting: dict[tuple[str, str], Deadline] = {}
        self.fresh: tuple[str, str] | None = None  # instance and step of an effect that has only been begun
        self.ended: tuple[str, str] | None = None  # instance and step of an effect that has just ended

    def draw(self) -> Picture:
        self.sketch.lane(Lane(CALLER, "caller", "caller"))
        for happening in self.recording.happenings:
            if isinstance(happening, Entered):
                self.enter(happening)
            elif isinstance(happening, Effect):
                self.effect(happening)
            else:
                self.move(happening)
        return self.sketch.picture(self.scenario.title, SOURCE)

    # Entries

    def enter(self, entered: Entered) -> None:
        entry = self.scenario.schedule[entered.index]
        seen = self.seen.get(entered.index, [])
        wrong = tuple(self.wrong.get(entered.index, ()))
        row = Row(
            entered.at, "entry", entries.label(entry), entries.answer(entry, seen), entered.index, wrong
        )
        self.entry, self.entry_row = entered.index, self.sketch.row(row)
        self.fresh = self.ended = None
        named = entries.instance(
            entry, entries.variables(self.scenario.schedule, self.recording.observations)
        )
        lane = None if named is None else self.instance(entered.uid, named)
        kind = entries.arrow(entry, seen)
        if lane is not None and kind is not None:
            self.sketch.arrows.append(Arrow(self.sketch.last, CALLER, lane, kind))
        if wrong:
            self.sketch.mark(lane or CALLER, "wrong")

    def called(self, move: Move) -> bool:
        """Whether a caller's move belongs to the row of the present entry."""
        if not isinstance(move.moment.action, _BY_CALLERS) or self.entry is None:
            return False
        entry = entries.call(self.scenario.schedule[self.entry])
        return entries.word(entry) in entries.CALLS and self.sketch.last == self.entry_row

    # Moves

    def move(self, move: Move) -> None:
        moment = move.moment
        if isinstance(moment.action, _UNSHOWN):
            return
        lane = self.instance(move.uid, moment.instance)
        if self.called(move):
            if isinstance(moment.reply, replies.Accepted) and moment.reply.handed_over:
                row = self.sketch.rows[-1]
                self.sketch.rows[-1] = replace(row, answer=f"{row.answer}, handed over to the wait")
            rows = self.sketch.rows
            rows[-1] = replace(rows[-1], clauses=tuple(dict.fromkeys(rows[-1].clauses + moment.clauses)))
        else:
            self.row_of(move)
        self.status(lane, moment.status)
        self.owners(lane, move)
        self.deadlines(lane, move)

    def row_of(self, move: Move) -> None:
        moment, rows = move.moment, self.sketch.rows
        lane = self.instance(move.uid, moment.instance)
        if isinstance(moment.action, actions.Park):
            kind, step = self.called_last.get((lane, moment.action.token), ("", ""))
            text = _park(moment.action, moment.reply, step)
        else:
            kind = ""
            text = _WORDS.get(type(moment.action), _name)(moment.action, moment.reply)
        answer = ""
        if isinstance(moment.reply, replies.Fenced):
            answer = "refused: fenced"
        elif isinstance(moment.reply, replies.Rejected):
            answer = f"rejected: {moment.reply.name}"
        elif isinstance(moment.reply, replies.BadArgument):
            answer = f"TypeError: {moment.reply.message}"
        elif isinstance(moment.reply, replies.Stopped):
            answer = f"ends the instance{': ' + moment.reply.reason if moment.reply.reason else ''}"
        row = Row(moment.at, "move", text, answer, clauses=moment.clauses)
        commits = isinstance(moment.action, actions.CommitAttempt)
        if commits and self.ended is not None and self.ended[0] == moment.instance:
            rows[-1] = row  # an effect that has ended, and its report, are one thing to look at
        else:
            self.sketch.row(row)
        self.fresh = self.ended = None
        owner = self.owner_lanes.get((lane, getattr(moment.action, "token", 0)))
        if owner is not None and kind == "wait" and isinstance(moment.reply, replies.Recorded):
            self.sketch.arrows.append(Arrow(self.sketch.last, lane, owner, "event"))
        if isinstance(moment.action, actions.BeginStep):
            self.called_last[lane, moment.action.token] = (moment.action.kind, moment.action.name)
            if owner is not None and isinstance(moment.reply, replies.Run):
                self.running[moment.instance, moment.action.name] = owner
                self.fresh = (moment.instance, moment.action.name)

    def instance(self, uid: str, id: str) -> str:
        """The lane of an instance; one of the same name in a re-created resource is another."""
        key = f"{uid}/{id}"
        if key not in self.sketch.lanes:
            same = sum(lane.kind == "instance" and lane.title.split(" (")[0] == id for lane in self.lanes)
            title = f"{id} ({same + 1})" if same else id
            self.sketch.lane(Lane(key, "instance", title))
        return key

    @property
    def lanes(self) -> list[Lane]:
        return list(self.sketch.lanes.values())

    def status(self, lane: str, status: str | None) -> None:
        inside = self.sketch.inside(lane)
        if status is None:
            self.sketch.end(lane)
        elif inside is None or inside.kind != status:
            self.sketch.begin(lane, status, status)

    def owners(self, lane: str, move: Move) -> None:
        action = move.moment.action
        for token in move.contexts:
            if (lane, token) not in self.owner_lanes:
                self.owner_lanes[lane, token] = self.owner(lane, token)
                version = action.version if isinstance(action, actions.Claim) else ""
                title = f"owner {token}" + (f" {version}" if version else "")
                self.sketch.begin(self.owner_lanes[lane, token], "owner", title)
            owner = self.owner_lanes[lane, token]
            inside = self.sketch.inside(owner)
            if token != move.owner and inside is not None and inside.kind == "owner":
                self.sketch.begin(owner, "fenced", "fenced")
        for (instance, token), owner in list(self.owner_lanes.items()):
            if instance == lane and token not in move.contexts and owner not in self.stopped:
                killed = isinstance(action, actions.Crash) and action.token == token
                self.sketch.mark(owner, "killed" if killed else "stopped")
                self.sketch.end(owner)
                self.sketch.end(owner, "effect")
                self.stopped.append(owner)

    def owner(self, lane: str, token: int) -> str:
        """The lane for a new owner."""
        own = [each for each in self.lanes if each.owner_of == lane]
        free = [each.key for each in own if each.key in self.stopped]
        if len(own) >= OWN_LANES and free:
            self.stopped.remove(free[0])
            self.owner_lanes = {key: each for key, each in self.owner_lanes.items() if each != free[0]}
            shared = self.sketch.lanes[free[0]]
            self.sketch.lanes[free[0]] = replace(shared, title=f"{shared.title.split(',')[0]}, …")
            return free[0]
        return self.sketch.lane(Lane(f"{lane}#{token}", "owner", f"owner {token}", lane))

    def deadlines(self, lane: str, move: Move) -> None:
        due = {f"deadline of {_quoted(name)}": at for name, at in move.deadlines.items()}
        if move.ends_at is not None:
            due["end of the lifetime"] = move.ends_at
        for (where, label), deadline in list(self.waiting.items()):
            if where == lane and due.get(label) != deadline.at:
                deadline.over = self.sketch.last
                del self.waiting[where, label]
        for label, at in due.items():
            if (lane, label) not in self.waiting:
                deadline = Deadline(lane, at, label, self.sketch.last)
                self.waiting[lane, label] = deadline
                self.sketch.deadlines.append(deadline)

    # Effects

    def effect(self, effect: Effect) -> None:
        key = (effect.instance, effect.step)
        owner = self.running.get(key)
        if not effect.began:
            self.sketch.row(Row(effect.at, "move", f"the effect of {_quoted(effect.step)} ends"))
            self.ended = key
            if owner is not None:
                self.sketch.end(owner, "effect")
            return
        if self.fresh != key:
            self.sketch.row(Row(effect.at, "move", f"the effect of {_quoted(effect.step)} begins"))
        self.fresh = None
        if owner is not None:
            self.sketch.begin(owner, "effect", effect.step, "effect")


def _quoted(name: Any) -> str:
    return json.dumps(name, default=repr) if len(str(name)) <= entries.SHOWN else entries.document(name)


def _begin(action: Any, reply: Any) -> str:
    who, step = f"owner {action.token}", _quoted(action.name)
    if isinstance(reply, replies.Recorded):
        return f"{who} calls {step}: {_outcome(reply.outcome)}"
    if isinstance(reply, replies.Run):
        return f"{who} runs {step}" + (f", attempt {reply.attempt}" if reply.attempt > 1 else "")
    return f"{who} {_CALLED[action.kind](step, action.arguments)}"


def _length(seconds: Any) -> str:
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        return entries.document(seconds)
    return entries.duration(seconds * 1000)


_CALLED: Mapping[str, Callable[[str, Mapping[str, Any]], str]] = {
    "do": lambda step, given: f"calls {step}",
    "sleep": lambda step, given: f"sleeps {step} for {_length(given.get('seconds'))}",
    "wait": lambda step, given: (
        f"waits {step} for {_quoted(given.get('type'))} at most {_length(given.get('timeoutSeconds'))}"
    ),
}


def _park(action: Any, reply: Any, step: Any) -> str:
    if isinstance(reply, replies.Recorded):
        return f"{_quoted(step)} of owner {action.token} takes {_outcome(reply.outcome)}"
    return f"owner {action.token} gives up the instance until {_quoted(step)} is over"


def _name(action: Any, reply: Any) -> str:
    return type(action).__name__


def _outcome(outcome: Any) -> str:
    if isinstance(outcome, Failed):
        return outcome.name
    return _bytes(outcome.document) if isinstance(outcome, Succeeded) else ""


def _bytes(document: Any) -> str:
    if isinstance(document, bytes):
        text = document.decode("utf-8")
        return text if len(text) <= entries.SHOWN else f"{text[: entries.SHOWN]}… ({len(text)} characters)"
    return "undefined" if document is None else str(getattr(document, "value", document))


def _commit(action: Any, reply: Any) -> str:
    return f"owner {action.token} reports {'a failure' if action.failed else _bytes(action.result)}"


def _settle(action: Any, reply: Any) -> str:
    if action.threw:
        return f"owner {action.token}: run threw" + (f" {action.provenance}" if action.provenance else "")
    return f"owner {action.token}: run returned {_bytes(action.result)}"


_WORDS: Mapping[type, Callable[[Any, Any], str]] = {
    actions.Claim: lambda action, reply: f"owner {action.token} starts on {action.version}",
    actions.BeginStep: _begin,
    actions.CommitAttempt: _commit,
    actions.Settle: _settle,
    actions.StopAck: lambda action, reply: f"owner {action.token} is proven stopped",
    actions.Crash: lambda action, reply: f"owner {action.token} is killed",
    actions.Expire: lambda action, reply: "the owner's lease runs out",
    actions.Wake: lambda action, reply: "the Host processes the deadline",
    actions.EndLifetime: lambda action, reply: "the Host processes the end of the lifetime",
    actions.Close: lambda action, reply: "the resource closes: every owner is fenced",
    actions.Purge: lambda action, reply: "the instance is purged",
    actions.Terminate: lambda action, reply: "terminate, from inside of the instance",
}
