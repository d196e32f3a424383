"""What `Waits` states; a name is that of the module, and so is the meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fencepost_model.abstraction import LOST, NONE, OFF, SLEPT
from fencepost_model.predicates import Here, gathered


def shape(at: Here) -> bool:
    context = at.context(at["own"])
    return (
        (at["own"] == 0 or (at.held_live and context is not None))
        and OFF <= at["left"] <= at.bounds["Lifetime"] + 3
        and 0 <= at["life"] <= at.bounds["Lifetime"]
        and 0 <= at["keep"] <= at.bounds["Retention"]
        and (at["left"] == OFF or (at.first is not None and at.held_live))
        and (at["left"] == OFF or context is None or at.first is None or context["open"] == at.first[0])
    )


def publication(at: Here) -> bool:
    parked = at["left"] != OFF and not at["ctx"] and at["dec"] == NONE
    return (at["term"] == NONE and not parked) or (not at["ctx"] and at["own"] == 0)


def decision_fences(at: Here) -> bool:
    return {at["dec"], at["term"]} == {NONE} or at["own"] == 0


def place(at: Here) -> bool:
    numbers = [number for number, _ in at["inbox"]]
    consumed = _consumed(at)
    everywhere = set(numbers) | consumed
    return (
        not consumed & set(numbers)
        and (not at.held_live or everywhere == set(range(1, at["accepted"] + 1)))
        and len(set(numbers)) == len(numbers)
    )


def one_wait(at: Here) -> bool:
    taken = [each for each in at["hist"].values() if each not in (0, SLEPT, LOST)]
    return len(set(taken)) == len(taken)


def in_order(at: Here) -> bool:
    numbers = [number for number, _ in at["inbox"]]
    return numbers == sorted(numbers)


def fifo(at: Here) -> bool:
    consumed = _consumed(at)
    waits = [(step, at["hist"][name]) for name, step in at.program if at["hist"][name] in consumed]
    return all(
        all(number < later for other, later in waits[k + 1 :] if _type(other) == _type(step))
        and all(number < queued for queued, type in at["inbox"] if type == _type(step))
        for k, (step, number) in enumerate(waits)
    )


def no_match_beside_wait(at: Here) -> bool:
    return not _waits(at) or not any(type == _type(_first(at)) for _, type in at["inbox"])


def capacity(at: Here) -> bool:
    return bool(len(at["inbox"]) <= at.bounds["MaxInbox"] and _bytes(at) <= at.bounds["MaxBytes"])


def inclusive(at: Here) -> bool:
    if (
        not _works(at)
        or at["accepted"] >= at.bounds["MaxEvents"]
        or len(at["inbox"]) >= at.bounds["MaxInbox"]
    ):
        return True
    sizes = at.bounds["Size"].items()
    return {type for type, size in sizes if _bytes(at) <= at.bounds["MaxBytes"] - size} <= at.sends


def hand_over_is_free(at: Here) -> bool:
    if not _works(at) or at["accepted"] >= at.bounds["MaxEvents"] or not _waits(at):
        return True
    return _type(_first(at)) in at.sends


def empty_at_the_end(at: Here) -> bool:
    return bool(at["term"] == NONE or at["inbox"] == ())


def complete_means_done(at: Here) -> bool:
    return "complete" not in (at["dec"], at["term"]) or at.first is None


def once(at: Here, to: Here) -> bool:
    return not _held(at) or all(
        not before or to["hist"][name] == before for name, before in at["hist"].items()
    )


def own_type(at: Here, to: Here) -> bool:
    return all(
        (to["hist"][name], _type(step)) in at["inbox"]
        for name, step in at.program
        if at["hist"][name] == 0 and 1 <= to["hist"][name] <= at["accepted"]
    )


def not_after_its_time(at: Here, to: Here) -> bool:
    handed = at["accepted"] + 1
    return at["left"] >= 0 or not any(
        before == 0 and to["hist"][name] == handed for name, before in at["hist"].items()
    )


def timeout_strictly(at: Here, to: Here) -> bool:
    return at["left"] == -1 or not any(
        before == 0 and to["hist"][name] == LOST for name, before in at["hist"].items()
    )


def sleep_not_early(at: Here, to: Here) -> bool:
    return at["left"] in (-1, 0) or not any(
        at["hist"][name] == 0 and to["hist"][name] == SLEPT and step["delay"] > 0 for name, step in at.program
    )


def deadline_fixed(at: Here, to: Here) -> bool:
    return at["left"] == OFF or to["left"] in (OFF, at["left"], at["left"] - 1)


def not_while_parked(at: Here, to: Here) -> bool:
    return bool(at["left"] == OFF or at["own"] != 0 or to["own"] == 0)


def lifetime_runs(at: Here, to: Here) -> bool:
    return not (at.held_live and to.held_live) or to["life"] in (at["life"], at["life"] - 1)


def only_at_the_end(at: Here, to: Here) -> bool:
    return not at.held_live or "lifetime_exceeded" not in (to["dec"], to["term"]) or at["life"] == 0


def nothing_after_the_end(at: Here, to: Here) -> bool:
    if not at.held_live or at["life"]:
        return True
    return to["hist"] == at["hist"] and {to["dec"], to["term"]} <= {NONE, "lifetime_exceeded", "terminated"}


def nothing_accepted_after(at: Here, to: Here) -> bool:
    over = (at.held_live and at["life"] == 0) or at["term"] != NONE
    return not over or to["accepted"] in (at["accepted"], 0)


def kept_long_enough(at: Here, to: Here) -> bool:
    return at["term"] in (NONE, to["term"]) or at["keep"] == 0


def retention_counts(at: Here, to: Here) -> bool:
    if at.held_live:
        return to.held_live or to["keep"] == at.bounds["Retention"]
    return to["keep"] in (at["keep"], at["keep"] - 1) or to.held_live


def decided(at: Here, to: Here) -> bool:
    return at["dec"] == NONE or at["dec"] in (to["dec"], to["term"])


def final(at: Here, to: Here) -> bool:
    return at["term"] in (NONE, to["term"]) or not _held(at)


def _held(at: Here) -> bool:
    return bool(at["prog"] != NONE and (at["term"] == NONE or at["keep"] > 0))


def _works(at: Here) -> bool:
    return at.held_live and bool(at["life"] > 0)


def _first(at: Here) -> Mapping[str, Any]:
    assert at.first is not None
    return at.first[1]


def _waits(at: Here) -> bool:
    return bool(at["left"] >= 0) and _first(at)["kind"] == "wait"


def _type(step: Mapping[str, Any]) -> str:
    return str(step.get("type", ""))


def _consumed(at: Here) -> set[int]:
    return set(at["hist"].values()) & set(range(1, at.bounds["MaxEvents"] + 1))


def _bytes(at: Here) -> int:
    return sum(at.bounds["Size"][type] for _, type in at["inbox"])


PREDICATES = gathered(
    (
        *(shape, publication, decision_fences, place, one_wait, in_order, fifo, no_match_beside_wait),
        *(capacity, inclusive, hand_over_is_free, empty_at_the_end, complete_means_done),
    ),
    (
        *(once, own_type, not_after_its_time, timeout_strictly, sleep_not_early, deadline_fixed),
        *(not_while_parked, lifetime_runs, only_at_the_end, nothing_after_the_end, nothing_accepted_after),
        *(kept_long_enough, retention_counts, decided, final),
    ),
)
