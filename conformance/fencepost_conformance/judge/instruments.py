"""Entries by which the world acts, and entries that only look.

An instrument permits or forbids: `holdWakes` forbids deadlines to be processed, `stuck` forbids stops,
`kill`, `pause` and `restart` permit an owner to be lost. Where it is open how a Host takes it (when it
notices a lost owner, whether it destroys a frozen one), everything within the Host's lease is possible.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from fencepost.machine import Vacant, parked_on
from fencepost.machine.actions import Close, Crash, Expire
from fencepost.machine.records import evolve
from fencepost.machine.state import Instance

from ..adapter import Answer
from ..observations import NO_ANSWER, Observation
from ..probe.values import build
from .blame import Witnesses
from .judgement import MILLISECONDS, Entry, Judgement
from .states import FOREVER, State, Trap, follow
from .tallies import hold_statuses
from .track import Track
from .verdict import Refused, Unjudged
from .world import World

Handler = Callable[[Judgement, Entry, list[Observation]], None]

_PAST_LEASE_MILLISECONDS = 1000


# Time, and what is read


def advance(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """The clock moves, nothing runs."""
    judgement.advance(round(entry["advance"] * MILLISECONDS))


def settle(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """The Host comes to rest; the journal may have been read then."""
    judgement.settle()
    judgement.read(observations)


def recover(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """Past the lease, so that every lost owner has been noticed."""
    judgement.advance(judgement.world.lease + _PAST_LEASE_MILLISECONDS)
    settle(judgement, entry, observations)


def counted(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """The journal is read, of which the Host knows nothing."""
    if not judgement.still:
        judgement.touch()
    judgement.read(observations)


def observed(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """The resource is observed anew."""
    judgement.settle()
    if entry.get("on", "workflow") != "workflow":
        return
    for each in observations:
        hold_statuses(each.answer, judgement.tracks.values())


# Owners


def trap(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """A kill or a pause, now or at a point that an owner will come by."""
    word = "kill" if "kill" in entry else "pause"
    id, at = build(entry[word], judgement.variables), entry.get("at", "now")
    judgement.touch()
    track = judgement.track(id)
    point, _, step = at.partition(":")
    if point == "now":
        track.each(lambda state: _befallen(track, state, word))
    else:
        set_up = Trap(word, point, step or None)
        track.each(lambda state: [state.having(traps=(*state.traps, set_up))])
    judgement.wake(id)


def _befallen(track: Track, state: State, deed: str) -> Iterator[State]:
    for each in (state, *track.moves.unheard(state)):
        for place in range(len(each.minds)):
            each = track.moves.snared(each, place, None, deed)
        yield each


def resume(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """Frozen owners go on, where they were not destroyed."""
    id = build(entry["resume"], judgement.variables)
    judgement.touch()
    track = judgement.track(id)
    track.each(lambda state: [_resumed(state, judgement.world)])
    judgement.wake(id)


def _resumed(state: State, world: World) -> State:
    slot, minds = state.slot, list(state.minds)
    for place, token, mind in state.pairs():
        if mind.condition != "frozen" or not isinstance(slot, Instance):
            continue
        owns = token == slot.owner
        if owns and mind.node is None:  # it was caught in its turn: its code is over
            minds[place] = evolve(mind, condition="gone", lapses=world.late + world.lease)
            continue
        lapsed = owns and world.late >= mind.lapses
        minds[place] = (
            evolve(mind, condition="lapsed") if lapsed else evolve(mind, condition="healthy", lapses=0)
        )
        if owns and not lapsed:
            slot = evolve(slot, lease_until=FOREVER)
    return state.having(slot=slot, minds=tuple(minds))


def stuck(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """Stops cannot be proven, or can again."""
    word = "stuck" if "stuck" in entry else "unstuck"
    judgement.touch()
    judgement.track(build(entry[word], judgement.variables)).moves.stuck = word == "stuck"
    judgement.changed()


def restart(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """Every owner is lost, and every call in flight."""
    judgement.touch()
    for track in judgement.tracks.values():
        track.lost.update(track.moves.flights)
        track.each(partial(_restart_of, track))
    judgement.changed()


def _restart_of(track: Track, state: State) -> Iterator[State]:
    taken = tuple(each for each in state.flights if each.reply is not None)
    state = state.having(flights=taken)
    for lost in _befallen(track, state, "kill"):
        yield from _after_a_restart(track, lost)
    if track.moves.stuck:  # the end of the Host's process may prove what no stop could
        for each in (state, *track.moves.unheard(state)):
            yield from _crashed(track, each)


def _crashed(track: Track, state: State) -> Iterator[State]:
    """Every context is gone, and known to be."""
    if not isinstance(state.slot, Instance) or not state.slot.contexts:
        yield state
        return
    crash = Crash(track.world.now, state.slot.contexts[0].token)
    for each in track.moves.transitions(state.slot, crash):
        yield from _crashed(track, follow(state, each.state))


def _after_a_restart(track: Track, lost: State) -> list[State]:
    if track.moves.stuck and isinstance(lost.slot, Instance) and lost.slot.owner:
        now = track.world.now  # its code goes on, but the Host that it belonged to is gone (DO-6a)
        lapsed = track.moves.transitions(evolve(lost.slot, lease_until=now), Expire(now))
        return [lost, *(follow(lost, each.state) for each in lapsed)]
    if isinstance(lost.slot, Instance) and not lost.slot.closed and parked_on(lost.slot) is not None:
        return [
            lost,
            lost.having(slot=evolve(lost.slot, current=None)),
        ]  # CTX-3a: one more, of what is parked
    return [lost]


def _retired(track: Track, state: State) -> list[State]:
    return [state, *_befallen(track, state, "kill")]


# The world


def release(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """A gate opens for good."""
    still = judgement.still
    if not still:
        judgement.touch()
    judgement.world.gates.add(entry["release"])
    judgement.changed()


def backend(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """The store goes out of reach, or comes back."""
    judgement.touch()
    judgement.world.backend_up = entry["backend"] == "up"
    judgement.changed()


def hold_wakes(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """Deadlines are not processed, or are again."""
    judgement.touch()
    judgement.world.wakes_held = bool(entry["holdWakes"])
    judgement.changed()


def deploy(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """Other Versions have weights; without a Deployment the contexts of the last one may be lost, too."""
    judgement.touch()
    judgement.world.versions = tuple(name for name, weight in entry["deploy"].items() if weight > 0)
    if not judgement.world.versions:
        for track in judgement.tracks.values():
            track.each(partial(_retired, track))
    judgement.changed()


# The resource


def delete(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """The DELETE is refused, or accepted and perhaps done (DEL-3, DEL-4)."""
    judgement.touch()
    answer = observations[-1].answer if observations else NO_ANSWER
    value = answer.value if isinstance(answer, Answer) and isinstance(answer.value, Mapping) else {}
    if value.get("code") is not None:
        return
    judgement.world.closed = True
    for track in judgement.tracks.values():
        track.each(partial(_closed, track))
    judgement.changed()
    if (value.get("operation") or {}).get("status") == "succeeded":
        judgement.settle()
        for track in judgement.tracks.values():
            _purged(track, answer)


def _closed(track: Track, state: State) -> Iterator[State]:
    for each in track.moves.transitions(state.slot, Close(track.world.now)):
        yield follow(state, each.state)


def _purged(track: Track, seen: Any) -> None:
    if track.out_of_sight:
        return
    closure = track.closure(track.states)
    gone = {state: trail for state, trail in closure.items() if isinstance(state.slot, Vacant)}
    if not gone:
        raise Refused(seen, ["the Operation is unfinished"], track.told(), Witnesses(("DEL-3", "DEL-4")))
    track.put(gone)


def recreate(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """A new UID and an empty id space (DEL-7)."""
    judgement.touch()
    judgement.world.closed = False
    for track in judgement.tracks.values():
        _purged(track, "the resource under its name again")
        track.each(lambda state: [state.having(slot=Vacant(judgement.world.rules))])
    judgement.changed()


def resource(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """A management call by hand: harmless, or the judge cannot say what it does to instances."""
    judgement.touch()
    method, on = entry["resource"], str(entry["on"])
    harmless = method == "GET" or on.startswith("caller") or (method == "PUT" and on == "workflow")
    if not harmless and not (method == "POST" and on in ("Worker", "Bundle", "Workflow")):
        raise Unjudged(f"{method} of {on} by hand may change what instances do")


def touched(judgement: Judgement, entry: Entry, observations: list[Observation]) -> None:
    """Something that changes nothing for instances, but lets the Host run."""
    judgement.touch()


INSTRUMENTS: Mapping[str, Handler] = {
    "advance": advance,
    "settle": settle,
    "recover": recover,
    "effects": counted,
    "marks": counted,
    "runs": counted,
    "history": touched,
    "counts": observed,
    "ready": touched,
    "observe": touched,
    "kill": trap,
    "pause": trap,
    "resume": resume,
    "stuck": stuck,
    "unstuck": stuck,
    "restart": restart,
    "release": release,
    "backend": backend,
    "holdWakes": hold_wakes,
    "deploy": deploy,
    "deleteResource": delete,
    "recreateResource": recreate,
    "resource": resource,
    "unbind": touched,
    "bind": touched,
    "verify": touched,
}
