"""Entries that call: made and answered, begun and awaited, made and their answer lost."""

from collections.abc import Mapping
from typing import Any

from fencepost.machine.actions import Action
from fencepost.machine.records import evolve
from fencepost.machine.replies import Unproven

from ..adapter import Answer
from ..observations import IN_FLIGHT, NO_ANSWER, Observation
from .blame import Witnesses
from .callers import Call, action_of
from .instruments import resource
from .judgement import Entry, Judgement
from .replies import explains, told
from .states import Flight, State, follow
from .track import Track
from .verdict import Refused


def call(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """A call and its answer; each send of a `sendEvent` with `times` is one."""
    for each in observations:
        _call(judgement, entry, each.answer)


def _call(judgement: Judgement, entry: Entry, answer: Any) -> None:
    judgement.touch()
    made = _made(judgement, entry)
    if "get" in entry and not made.sound and isinstance(answer, Answer) and answer.error is not None:
        return  # BND-9a: any rejection
    failed = isinstance(answer, Answer) and answer.error is not None
    if not judgement.world.backend_up and failed and answer.error[0] == "backend_unavailable":
        return  # BND-8
    if "create" in entry and not judgement.world.versions and failed:
        return  # RDY-1
    if made.id is None:
        _create_unnamed(judgement, made, answer)
    elif not made.known:
        _answer(Track(judgement.world, ""), made.actions, answer)
    elif not judgement.world.backend_up:
        raise Refused(
            answer, [{"error": "backend_unavailable"}], judgement.track(made.id).told(), Witnesses(("BND-8",))
        )
    else:
        _answer(judgement.track(made.id), made.actions, answer)
        if "create" in entry and not failed and answer.value != made.id:
            raise Refused(answer, [{"ok": made.id}], [], Witnesses(("BND-1",)))
        judgement.wake(made.id)
    if "create" in entry and "as" in entry and isinstance(answer, Answer) and not failed:
        judgement.variables[entry["as"]] = answer.value


def _made(judgement: Judgement, entry: Entry) -> Call:
    return action_of(entry, judgement.scenario, judgement.variables, judgement.world.choices)


def _answer(track: Track, actions: list[Action], answer: Any) -> None:
    refusal: Refused | None = None
    for action in actions:
        try:
            track.answered(action, answer)
        except Refused as refused:
            refusal = refusal or refused
        else:
            return
    assert refusal is not None
    raise refusal


def _create_unnamed(judgement: Judgement, made: Call, answer: Any) -> None:
    """The Host issues the id, one that nothing is held under (BND-2)."""
    if isinstance(answer, Answer) and answer.error is None:
        track = judgement.track(answer.value)
        _answer(track, [evolve(each, id=answer.value) for each in made.actions], answer)
        judgement.wake(answer.value)
    else:
        _answer(Track(judgement.world, ""), [evolve(each, id="issued") for each in made.actions], answer)


def drop_response(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """The call took effect, whatever it was answered with."""
    made = entry["dropResponse"]
    if "resource" in made:
        resource(judgement, made, observations)
        return
    judgement.touch()
    dropped = _made(judgement, made)
    if dropped.id is None:
        judgement.tallies.foggy = True
    elif dropped.known and judgement.world.backend_up:
        track = judgement.track(dropped.id)
        refused = [*track.states] if "create" in made and not judgement.world.versions else []  # RDY-1
        found = [
            follow(state, each.state)
            for state in track.states
            for action in dropped.actions
            for each in track.offers(state, action)
        ]
        track.put([*refused, *found])
        judgement.wake(dropped.id)


def start(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """A call is in flight; the Host takes it when it likes, before it comes to rest."""
    made, name = entry["start"], entry["as"]
    judgement.flying[name] = None
    if "resource" in made:
        resource(judgement, made, observations)
        return
    judgement.touch()
    flown = _made(judgement, made)
    if flown.id is None:
        judgement.tallies.foggy = True
    if flown.id is None or not flown.known or len(flown.actions) > 1:
        return
    track = judgement.flying[name] = judgement.track(flown.id)
    track.moves.flights[name] = flown.actions[0]
    track.lost.discard(name)
    if name not in judgement.heard:
        track.moves.unawaited.add(name)
    flight = Flight(name)
    track.each(lambda state: [state.having(flights=(*state.flights, flight))])
    if not judgement.world.backend_up or ("create" in made and not judgement.world.versions):
        track.lost.add(name)
        track.each(lambda state: [state, _without(state, name)])
    judgement.wake(flown.id)


def awaited(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """The Host was let run; the call has ended so, or not."""
    judgement.settle()
    for each in observations:
        _landed(judgement, entry["await"], each.answer)


def pending(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """The call has ended so, or is still in flight; an answer may always be on its way."""
    for each in observations:
        if each.answer != IN_FLIGHT:
            judgement.touch()
            _landed(judgement, entry["pending"], each.answer, keep=True)


def _landed(judgement: Judgement, name: str, answer: Any, keep: bool = False) -> None:
    track = judgement.flying.get(name)
    if track is None:
        return
    kept = {
        (state if keep or answer == NO_ANSWER else _without(state, name)): trail
        for state, trail in track.states.items()
        if _lands(track, state, name, answer)
    }
    if track.out_of_sight:
        return
    if not kept:
        raise Refused(answer, _landings(track, name), track.told(), Witnesses(("TRM-1", "TRM-5", "BND-1")))
    track.states = kept
    judgement.wake(track.id)


def _without(state: State, name: str) -> State:
    return state.having(flights=tuple(each for each in state.flights if each.name != name))


def _lands(track: Track, state: State, name: str, answer: Any) -> bool:
    if name in track.lost:
        return True
    flight = next((each for each in state.flights if each.name == name), None)
    if flight is None:
        return False
    if flight.reply is None:
        return bool(answer == NO_ANSWER) and not (track.world.exact and track.world.backend_up)
    if isinstance(flight.reply, Unproven):
        return track.late(state, track.moves.flights[name], answer)
    return explains(flight.reply, answer)


def _landings(track: Track, name: str) -> list[Any]:
    """What a call in flight may be answered with, for a reader."""
    found: dict[str, Any] = {}
    for state in track.states:
        for flight in state.flights:
            if flight.name == name and flight.reply is not None:
                unproven = isinstance(flight.reply, Unproven)
                late = (
                    track.late_reply(state, track.moves.flights[name]) if unproven else [told(flight.reply)]
                )
                found.update((repr(each), each) for each in late)
    return list(found.values())


CALLS: Mapping[str, Any] = {
    "create": call,
    "get": call,
    "status": call,
    "sendEvent": call,
    "terminate": call,
    "start": start,
    "await": awaited,
    "pending": pending,
    "dropResponse": drop_response,
}
