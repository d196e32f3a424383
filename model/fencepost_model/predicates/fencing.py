"""What `Fencing` states; a name is that of the module, and so is the meaning."""

from __future__ import annotations

from fencepost_model.abstraction import LOST, NONE, SLEPT
from fencepost_model.predicates import Here, gathered


def shape(at: Here) -> bool:
    tokens = [each["token"] for each in at["ctx"]]
    return (
        0 <= at["own"] <= at.bounds["MaxToken"]
        and (at["own"] == 0 or at["own"] in tokens)
        and (at["term"] != NONE or all(token <= at["token"] for token in tokens))
        and len(set(tokens)) == len(tokens)
        and NONE in (at["dec"], at["term"])
    )


def publication(at: Here) -> bool:
    parked = at["timer"] and not at["ctx"] and at["dec"] == NONE
    return (at["term"] == NONE and not parked) or (not at["ctx"] and at["own"] == 0)


def decision_fences(at: Here) -> bool:
    return {at["dec"], at["term"]} == {NONE} or at["own"] == 0


def prefix(at: Here) -> bool:
    outcomes = [at["hist"][name] for name, _ in at.program]
    return all(
        not later or earlier not in (0, LOST) for k, later in enumerate(outcomes) for earlier in outcomes[:k]
    )


def complete_means_done(at: Here) -> bool:
    return "complete" not in (at["dec"], at["term"]) or (at.first is None and not _has_failed(at))


def failed_means_failed(at: Here) -> bool:
    return "step_failed" not in (at["dec"], at["term"]) or _has_failed(at)


def attempts_bounded(at: Here) -> bool:
    if not at["fails"]:
        return True
    return at.first is not None and at.first[1]["kind"] == "do" and at["fails"] < at.first[1]["attempts"]


def only_owner_commits(at: Here, to: Here) -> bool:
    return all(to["hist"][name] in (before, SLEPT, LOST, 0, at["own"]) for name, before in at["hist"].items())


def failures_by_owner(at: Here, to: Here) -> bool:
    counted = to["fails"] > at["fails"] or (_has_failed(to) and not _has_failed(at))
    return not counted or at["own"] != 0


def once(at: Here, to: Here) -> bool:
    return all(not before or to["hist"][name] == before for name, before in at["hist"].items())


def no_effect_again(at: Here, to: Here) -> bool:
    return all(
        each["open"] == NONE or each in at["ctx"] or at["hist"][each["open"]] == 0 for each in to["ctx"]
    )


def owner_calls(at: Here, to: Here) -> bool:
    idle = {each["token"] for each in at["ctx"] if each["open"] == NONE}
    begun = {each["token"] for each in to["ctx"] if each["open"] != NONE}
    return idle & begun <= {at["own"]}


def handed_back(at: Here, to: Here) -> bool:
    before, after = at.context(at["own"]), to.context(at["own"])
    if not at["own"] or to["own"] != at["own"] or before is None or after is None:
        return True
    return bool(before["open"] == NONE or after["open"] != NONE or to["hist"][before["open"]] != 0)


def last_attempt(at: Here, to: Here) -> bool:
    if not _has_failed(to) or _has_failed(at):
        return True
    return at.first is not None and at["fails"] + 1 >= at.first[1]["attempts"]


def fresh_context(at: Here, to: Here) -> bool:
    return bool(to["fails"] <= at["fails"] or to["own"] == 0)


def not_before_its_time(at: Here, to: Here) -> bool:
    return not (at["timer"] and at["own"] == 0) or to["own"] == 0


def timers_are_kept(at: Here, to: Here) -> bool:
    if to["fails"] <= at["fails"] or at.first is None:
        return True
    return bool(to["timer"] == (at.first[1]["delay"] > 0))


def sleep_is_recorded(at: Here, to: Here) -> bool:
    if not at["timer"] or to["timer"] or not to.held_live or at.first is None:
        return True
    return at.first[1]["kind"] != "sleep" or bool(to["hist"][at.first[0]] == SLEPT)


def sleep_takes_time(at: Here, to: Here) -> bool:
    return at["timer"] or not any(
        at["hist"][name] == 0 and to["hist"][name] == SLEPT and step["delay"] > 0 for name, step in at.program
    )


def fresh_token(at: Here, to: Here) -> bool:
    if to["own"] in (0, at["own"]):
        return True
    return to["own"] == at["token"] + 1 and all(each["token"] < to["own"] for each in at["ctx"])


def fenced_stays_fenced(at: Here, to: Here) -> bool:
    return to["own"] in (0, at["own"]) or to["own"] > at["token"]


def settled_by_owner(at: Here, to: Here) -> bool:
    if {at["dec"], at["term"]} != {NONE} or {to["dec"], to["term"]} == {NONE}:
        return True
    return "terminated" in (to["dec"], to["term"]) or at["own"] != 0


def decided(at: Here, to: Here) -> bool:
    return at["dec"] == NONE or at["dec"] in (to["dec"], to["term"])


def final(at: Here, to: Here) -> bool:
    return at["term"] in (NONE, to["term"])


def unsettled(at: Here, to: Here) -> bool:
    context = at.context(at["own"])
    if not at["own"] or to["own"] or context is None or context["open"] == NONE:
        return True
    return {to["dec"], to["term"]} <= {NONE, "terminated", "step_definition_mismatch"}


def _has_failed(at: Here) -> bool:
    return LOST in at["hist"].values()


PREDICATES = gathered(
    (
        *(shape, publication, decision_fences, prefix, complete_means_done, failed_means_failed),
        attempts_bounded,
    ),
    (
        *(
            only_owner_commits,
            failures_by_owner,
            once,
            no_effect_again,
            owner_calls,
            handed_back,
            last_attempt,
        ),
        *(fresh_context, not_before_its_time, timers_are_kept, sleep_is_recorded, sleep_takes_time),
        *(fresh_token, fenced_stays_fenced, settled_by_owner, decided, final, unsettled),
    ),
)
