"""What `Resource` states; a name is that of the module, and so is the meaning."""

from __future__ import annotations

from fencepost_model.abstraction import ABSENT, NONE
from fencepost_model.predicates import Here, gathered
from fencepost_model.values import State


def shape(at: Here) -> bool:
    return all(
        (not each["own"] or (_live(each) and (id, each["own"]) in _tokens(at)))
        and (not _live(each) or all(token <= each["token"] for owned, token in _tokens(at) if owned == id))
        and (each["held"] or each == ABSENT)
        for id, each in at["inst"].items()
    )


def nothing_old(at: Here) -> bool:
    present = (0, at["uid"])
    return all(each["work"] in present and each["timer"] in present for each in at["inst"].values()) and all(
        each["uid"] == at["uid"] for each in at["ctx"]
    )


def free_means_empty(at: Here) -> bool:
    return at["phase"] != "free" or (not at["ctx"] and all(each == ABSENT for each in at["inst"].values()))


def closed_fences(at: Here) -> bool:
    return at["phase"] == "open" or not any(each["own"] for each in at["inst"].values())


def live_does_not_block(at: Here) -> bool:
    return at["phase"] != "open" or at["bound"] or "Close" in at.actions


def binding_blocks(at: Here, to: Here) -> bool:
    return not (at["phase"] == "open" and to["phase"] == "closing") or not at["bound"]


def nothing_new(at: Here, to: Here) -> bool:
    if at["phase"] == "open" or (to["uid"], to["phase"]) != (at["uid"], at["phase"]):
        return True
    return all(
        after["held"] == before["held"]
        and not after["own"]
        and after["work"] == before["work"]
        and (after["timer"] == before["timer"] or (after["end"] != NONE and not after["timer"]))
        for before, after in _pairs(at, to)
    )


def new_uid(at: Here, to: Here) -> bool:
    return bool((at["phase"] == "free" and to["phase"] == "open") == (to["uid"] == at["uid"] + 1))


def only_delete_forgets(at: Here, to: Here) -> bool:
    return to["phase"] == "free" or all(
        not before["held"] or after["held"] for before, after in _pairs(at, to)
    )


def once(at: Here, to: Here) -> bool:
    return all(
        not before["work"] or after["work"] == before["work"] or (to["phase"] == "free" and not after["work"])
        for before, after in _pairs(at, to)
    )


def final(at: Here, to: Here) -> bool:
    return to["phase"] == "free" or all(
        before["end"] in (NONE, after["end"]) for before, after in _pairs(at, to)
    )


def apart(at: Here, to: Here) -> bool:
    return at["phase"] != to["phase"] or sum(before != after for before, after in _pairs(at, to)) <= 1


def _live(each: State) -> bool:
    return bool(each["held"]) and each["end"] == NONE


def _tokens(at: Here) -> set[tuple[str, int]]:
    return {(each["id"], each["token"]) for each in at["ctx"]}


def _pairs(at: Here, to: Here) -> list[tuple[State, State]]:
    return [(before, to["inst"][id]) for id, before in at["inst"].items()]


PREDICATES = gathered(
    (shape, nothing_old, free_means_empty, closed_fences, live_does_not_block),
    (binding_blocks, nothing_new, new_uid, only_delete_forgets, once, final, apart),
)
