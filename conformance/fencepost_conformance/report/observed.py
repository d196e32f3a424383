"""A picture out of what any Host lets be seen: the schedule, and the observations at its entries.

Nothing is known of such a Host between two observations, and the picture says so: a status lasts, uncertain,
until the next sighting; an effect that the journal counted began somewhere between two looks at the journal;
deadlines are the earliest that the program allows, and are drawn only as long as it is a plain sequence.
Owners are not seen at all. They get one lane for each instance to which something was done on purpose (a
kill, a pause), or whose effects were counted.

Instants are those of the clock that the schedule moves. Where the Host has no such clock, they are real.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..adapter import Answer
from ..observations import Observation
from ..results import Difference
from ..scenario import Scenario
from . import entries
from .picture import Arrow, Deadline, Lane, MarkKind, Picture, Row, Sketch

SOURCE = (
    "Drawn from the schedule and what the Host answered: between two sightings a status is only presumed, "
    "an effect began somewhere inside its bar, and a deadline is the earliest possible."
)
CALLER = "caller"
MILLISECONDS = 1000

_DEEDS: Mapping[str, MarkKind] = {"kill": "killed", "pause": "paused", "stuck": "paused"}
_ENDED = frozenset({"complete", "errored", "terminated"})


def picture(
    scenario: Scenario,
    observations: Sequence[Observation],
    differences: Sequence[Difference],
    *,
    lease_seconds: float = 0.0,
    has_clock: bool = True,
) -> Picture:
    """The picture of a scenario on a Host of somebody else, with the observations that differ marked."""
    drawing = _Drawing(scenario, observations, differences, lease_seconds, has_clock)
    return drawing.draw()


class _Drawing:
    def __init__(
        self,
        scenario: Scenario,
        observations: Sequence[Observation],
        differences: Sequence[Difference],
        lease_seconds: float,
        has_clock: bool,
    ) -> None:
        self.scenario, self.has_clock = scenario, has_clock
        self.past_lease = round((lease_seconds + 1) * MILLISECONDS)
        self.seen = entries.by_entry(observations, lambda each: each.index)
        self.wrong = entries.by_entry(differences, entries.place)
        self.variables = entries.variables(scenario.schedule, observations)
        self.reached = max([*self.seen, *self.wrong], default=len(scenario.schedule))
        self.sketch = Sketch()
        self.counted: dict[str, int] = {}
        self.counted_at = 0  # the row in which the journal was looked at last
        self.created_at: dict[str, int] = {}  # lane -> the row in which its instance was created
        self.programs: dict[str, str] = {}  # step name -> lane of the instance that alone has such a step

    def draw(self) -> Picture:
        """Row by row, as far as the scenario went."""
        self.sketch.lane(Lane(CALLER, "caller", "caller"))
        now = 0
        for index, entry in enumerate(self.scenario.schedule):
            if index > self.reached and index not in self.seen:
                break
            seen = self.seen.get(index, ())
            if not self.has_clock and seen:
                now = max(now, round(seen[-1].ended * MILLISECONDS))
            self.enter(index, entry, now, seen)
            if self.has_clock:
                now += self.passes(entry)
        return self.sketch.picture(self.scenario.title, SOURCE)

    def passes(self, entry: Mapping[str, Any]) -> int:
        """Milliseconds by which an entry moves the clock."""
        if "recover" in entry:
            return self.past_lease
        return round(entry["advance"] * MILLISECONDS) if "advance" in entry else 0

    def enter(self, index: int, entry: Mapping[str, Any], now: int, seen: Sequence[Observation]) -> None:
        wrong = self.wrong.get(index, ())
        self.sketch.row(
            Row(now, "entry", entries.label(entry), entries.answer(entry, seen), index, tuple(wrong))
        )
        id = entries.instance(entry, self.variables)
        lane = None if id is None else self.sketch.lane(Lane(f"i/{id}", "instance", id))
        kind = entries.arrow(entry, seen)
        if lane is not None and kind is not None:
            self.sketch.arrows.append(Arrow(self.sketch.last, CALLER, lane, kind))
        if wrong:
            self.sketch.mark(lane or CALLER, "wrong")
        if lane is not None:
            self.about(lane, entry, now, seen)
        for each in seen:
            if isinstance(each.answer, Mapping) and isinstance(each.answer.get("effects"), Mapping):
                self.effects(each.answer["effects"])

    def about(self, lane: str, entry: Mapping[str, Any], now: int, seen: Sequence[Observation]) -> None:
        """What an entry shows of its instance, or does to it."""
        deed = _DEEDS.get(entries.word(entry))
        if deed is not None:
            at = entry.get("at", "now")
            self.sketch.mark(self.owners(lane), deed, f"{entries.word(entry)} at {at}")
        made = entries.call(entry)
        accepted = [each for each in seen if isinstance(each.answer, Answer) and each.answer.error is None]
        if "create" in made and (accepted or made is not entry) and self.sketch.inside(lane) is None:
            self.sketch.begin(lane, "created", "created", certain=False)
            self.created(lane, made, now)
        for each in seen:
            status = entries.status_seen(each)
            if status is not None:
                self.sketch.mark(lane, "seen", status)
                inside = self.sketch.inside(lane)
                if inside is None or inside.kind != status:
                    self.sketch.begin(lane, status, status, certain=status in _ENDED)
                if status in _ENDED:
                    self.sketch.nothing_waits(lane)

    def created(self, lane: str, create: Mapping[str, Any], now: int) -> None:
        """What is known of an instance from its program."""
        self.created_at[lane] = self.sketch.last
        name = create.get("program")
        if not isinstance(name, str):
            return
        first = self.scenario.versions[0]
        named = self.scenario.document.get("versions", {}).get(first, {}).get(name, name)
        program = self.scenario.programs.get(named, [])
        for step in _steps(program):
            self.programs[step] = lane if self.programs.get(step, lane) == lane else ""
        at = now
        for step, seconds in _waits(program):
            at += seconds * MILLISECONDS
            label = f"earliest deadline of {json.dumps(step)}"
            self.sketch.deadlines.append(Deadline(lane, at, label, self.sketch.last))

    def owners(self, lane: str) -> str:
        """The lane of whatever runs an instance."""
        return self.sketch.lane(Lane(f"{lane}#", "owner", "owners", lane))

    def effects(self, counts: Mapping[str, int]) -> None:
        """Bars for the effects that were counted since the last look."""
        for name, count in counts.items():
            more = count - self.counted.get(name, 0)
            lane = self.programs.get(name)
            if more > 0 and lane:
                owners = self.owners(lane)
                label = name if more == 1 else f"{name} ×{more}"
                since = max(self.counted_at, self.created_at.get(lane, 0))
                self.sketch.between(owners, "effect", label, since)
        self.counted = dict(counts)
        self.counted_at = self.sketch.last


def _steps(program: Any) -> Iterator[str]:
    """The names of all do steps of a program, at any depth."""
    for operation in program if isinstance(program, list) else []:
        if isinstance(operation, dict):
            if isinstance(operation.get("do"), str):
                yield operation["do"]
            for value in operation.values():
                yield from _steps(value)


def _waits(program: Any) -> Iterator[tuple[str, int]]:
    """Name and seconds of each sleep and wait of a plain sequence, as far as time alone leads."""
    for operation in program:
        if not isinstance(operation, dict):
            return
        if isinstance(operation.get("sleep"), str) and isinstance(operation.get("seconds"), int):
            yield operation["sleep"], operation["seconds"]
        elif isinstance(operation.get("wait"), str) and isinstance(operation.get("timeoutSeconds"), int):
            yield operation["wait"], operation["timeoutSeconds"]
            return  # an event may end it at any instant
        elif not _is_instant(operation):
            return


def _is_instant(operation: Mapping[str, Any]) -> bool:
    """Whether an operation takes no time and leads to the next one."""
    effect = operation.get("effect", {})
    plain = isinstance(effect, dict) and effect.keys() <= {"value", "undefined"}
    return bool(operation.keys() & {"mark", "set", "moduleCounter", "instanceCounter"}) or (
        "do" in operation and plain
    )
