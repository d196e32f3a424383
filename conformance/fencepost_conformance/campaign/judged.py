"""One life as a scenario that was observed, put before the judge.

Calls that were made one after the other are entries of a schedule; what overlaps is begun at its instant and
awaited at that of its answer; what nobody was told of is begun, and never awaited. The judge is not told what
was killed: it takes owners to be lost whenever that helps, as often as the journal counted effects.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from ..adapter import Handshake
from ..judge import NotAdmitted, judge
from ..observations import IN_FLIGHT, Observation
from ..scenario import FORMAT, Scenario, from_document
from .lives import Life, Seen

TOLERANCE_MILLISECONDS = 20
"""How far what was timed here may be from the clock that the Host reads: that of the same machine."""


_BESIDE = (0, 1)
"""How many lost owners are taken to go on beside the next one: each allows what those before it do, and costs
more."""


@dataclass(frozen=True)
class Judged:
    """What the judge said of one life: a refusal, or notes on what it did not look at."""

    id: str
    refusal: str = ""
    notes: tuple[str, ...] = ()


def scenario_of(life: Life) -> tuple[Scenario, list[Observation]]:
    """A life as a judged scenario, and what its entries showed."""
    reports: Iterator[Moment] = ((at, at, {"settle": True}, counts) for at, counts in life.reported)
    moments = sorted([*_moments(_thinned(_telling(life.seen)), life), *reports], key=lambda moment: moment[0])
    origin = moments[0][0]
    schedule: list[dict[str, Any]] = []
    observations: list[Observation] = []
    for began, ended, entry, answer in moments:
        word = next(iter(entry))
        observations.append(Observation(len(schedule), word, answer, began - origin, ended - origin))
        schedule.append(entry)
    document = {
        "format": FORMAT,
        "title": "One life under crashes",
        "clauses": ["GRT-8"],
        "judged": True,
        "programs": {"main": list(life.plan.program)},
        "schedule": schedule,
    }
    return from_document(document, life.id, validate=False), observations


Moment = tuple[float, float, dict[str, Any], Any]
"""When an entry began and ended, the entry, and what it showed."""


def _telling(seen: Sequence[Seen]) -> list[Seen]:
    """Without calls that nobody has heard of again and that can have changed nothing: looks, and creates but
    for the first of those that a later one found done."""
    creates = [each for each in seen if "create" in each.entry]
    exists = any(each.answer is not None and not each.told for each in creates)
    first = creates[:1] if exists else []
    return [
        each
        for each in seen
        if each.answer is not None or each in first or not ("status" in each.entry or "create" in each.entry)
    ]


def _thinned(seen: Sequence[Seen]) -> list[Seen]:
    """Without looks that show what those before and after them do: they would tell the judge hardly more."""
    looks = [each for each in seen if "status" in each.entry]
    alike = {
        id(each)
        for before, each, after in zip(looks, looks[1:], looks[2:], strict=False)
        if _shown(before) == _shown(each) == _shown(after)
    }
    return [each for each in seen if id(each) not in alike]


def _shown(look: Seen) -> Any:
    return look.answer.value if look.answer is not None else None


def _moments(seen: Sequence[Seen], life: Life) -> Iterator[Moment]:
    for number, each in enumerate(seen):
        alone = not any(_overlap(each, other) for other in seen if other is not each)
        alone = alone and not any(each.began <= at <= each.ended for at, _ in life.reported)
        if each.answer is not None and alone:
            yield each.began, each.ended, each.entry, each.answer
            continue
        name = f"c{number}"
        yield each.began, each.began, {"start": each.entry, "as": name}, IN_FLIGHT
        if each.answer is not None:
            yield each.ended, each.ended, {"await": name}, each.answer


def _overlap(one: Seen, other: Seen) -> bool:
    return other.answer is not None and one.began <= other.ended and other.began <= one.ended


def judged(life: Life) -> Judged:
    """What the judge says of a life."""
    scenario, observations = scenario_of(life)
    handshake = Handshake("durable", "", frozenset({"journal"}), 1.0)
    for beside in _BESIDE:
        verdict = judge(
            scenario,
            observations,
            handshake,
            tolerance_milliseconds=TOLERANCE_MILLISECONDS,
            fine_clock=True,
            losses=beside,
        )
        if not isinstance(verdict, NotAdmitted):
            return Judged(life.id, notes=verdict.notes)
    return Judged(life.id, str(verdict))


def judge_all(lives: Sequence[Life], seconds: float | None = None, processes: int = 2) -> Iterator[Judged]:
    """What the judge says of every life, in their order; none is begun any more after so many seconds."""
    limit = None if seconds is None else time.monotonic() + seconds
    with ProcessPoolExecutor(processes) as pool:
        asked = [pool.submit(judged, life) for life in lives]
        for life, answer in zip(lives, asked, strict=True):
            if limit is not None and time.monotonic() > limit:
                answer.cancel()
            try:
                yield answer.result()
            except CancelledError:
                yield Judged(life.id, notes=("there was no time for it",))
