"""What the journal counted, and what the resource counted, held against the possible states of all ids.

Effects are exact for each id and step; the journal adds them up by the step's name, so where several ids
begin effects of one name their possible counts must have a sum that fits. Of runs and marks a state knows the
least number: a Host may always start one more context, which replays what it replays. A mark that no context
can have passed was not passed.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from fencepost.machine.actions import ReadStatus
from fencepost.machine.replies import StatusAnswer
from fencepost.machine.state import Instance

from .blame import RUNS, RUNS_OF_NOBODY, Witnesses, of_effects, of_marks
from .moves import ANY_MARK
from .states import State
from .track import Track
from .verdict import Refused

MOST_SUMS = 4096


class Tallies:
    """The journal of one scenario, as far as it was looked at.

    Only what changed is looked at again: counts that are others than before, and ids at which something may
    have happened.
    """

    def __init__(self, ignored: Iterable[str]) -> None:
        self.ignored = frozenset(ignored)  # marks of floating timers
        self.foggy = False  # an instance that nobody knows of is counted, too
        self._before: dict[str, dict[str, int]] = {"effects": {}, "runs": {}, "marks": {}}
        self._beginning: dict[str, set[str]] = {}  # step -> ids that may have begun its effect
        self._passing: dict[str, set[str]] = {}  # label -> ids that may have passed the mark

    def hold(self, counts: Mapping[str, Any], tracks: Mapping[str, Track], touched: Iterable[str]) -> None:
        """Keep the states that fit what the journal counted; Refused when none does."""
        touched = list(touched)
        effects, labels = set[str](), set[str]()
        for id in touched:
            for state in tracks[id].states:
                effects.update(state.effects)
                labels.update(state.marks, state.perhaps)
                for name in state.effects:
                    self._beginning.setdefault(name, set()).add(id)
                for label in (*state.marks, *state.perhaps):
                    self._passing.setdefault(label, set()).add(id)
        if self.foggy or any(track.out_of_sight for track in tracks.values()):
            return
        seen = counts.get("effects", {})
        for name in sorted(effects | self._changed("effects", seen)):
            self._hold_effect(name, seen.get(name, 0), tracks)
        seen = counts.get("runs", {})
        for id in sorted(set(touched) | self._changed("runs", seen)):
            _hold_runs(id, seen.get(id, 0), tracks.get(id))
        seen = counts.get("marks", {})
        anywhere = self._passing.get(ANY_MARK, set())
        for label in sorted((labels | self._changed("marks", seen)) - self.ignored - {ANY_MARK}):
            ids = sorted(self._passing.get(label, set()) | anywhere)
            _hold_mark(label, seen.get(label, 0), [tracks[id] for id in ids])

    def _changed(self, kind: str, seen: Mapping[str, int]) -> set[str]:
        """The names of which the journal has another count than it had."""
        before = self._before[kind]
        changed = {name for name, _ in seen.items() - before.items()}
        before.update((name, seen[name]) for name in changed)
        return changed

    def _hold_effect(self, name: str, seen: int, tracks: Mapping[str, Track]) -> None:
        ids = sorted(self._beginning.get(name, ()))
        values = {id: {state.effects.get(name, 0) for state in tracks[id].states} for id in ids}
        for id in ids:
            others = _sums([values[other] for other in ids if other != id])
            kept = [
                state
                for state in tracks[id].states
                if others is None or seen - state.effects.get(name, 0) in others
            ]
            if not kept:
                raise self._refused({"effects": {name: seen}}, name, ids, tracks)
            _narrow(tracks[id], kept)
        if not ids and seen:
            raise self._refused({"effects": {name: seen}}, name, ids, tracks)

    def _refused(self, seen: Any, name: str, ids: Iterable[str], tracks: Mapping[str, Track]) -> Refused:
        ids = list(ids) or list(tracks)  # nobody can have begun it: it may have been anybody
        sums = _sums([{state.effects.get(name, 0) for state in tracks[id].states} for id in ids])
        possible = [{"effects": {name: each}} for each in sorted(sums or ())]
        states = [line for id in ids for line in tracks[id].told()]
        count = seen["effects"][name]
        trails = [clause for id in ids for clause in tracks[id].trail()]
        furthest = [state for id in ids for state in tracks[id].furthest()]
        answer = tuple(of_effects(name, count, sums or (), furthest))
        return Refused(seen, possible, states, Witnesses(answer, tuple(trails)), f"effects of {name}")


def _hold_runs(id: str, seen: int, track: Track | None) -> None:
    """A Host may always start one more context, but none of an instance that it does not have."""
    if track is None:
        raise Refused({"runs": {id: seen}}, [{"runs": {id: 0}}], [], Witnesses(RUNS_OF_NOBODY))
    kept = [state for state in track.states if state.runs == seen or 1 <= state.runs < seen]
    if not kept:
        least = sorted({state.runs for state in track.states})
        possible = [{"runs": {id: {"atLeast": each}}} for each in least]
        witnesses = Witnesses(trail=tuple(track.trail()), plain=RUNS)
        raise Refused({"runs": {id: seen}}, possible, track.told(), witnesses)
    _narrow(track, kept)


def _hold_mark(label: str, seen: int, tracks: list[Track]) -> None:
    """A mark was passed at least as often as contexts did, and only where one could."""
    if len(tracks) == 1:
        kept = [state for state in tracks[0].states if _may_have(state, label, seen)]
        fits = bool(kept)
        if fits:
            _narrow(tracks[0], kept)
    else:
        least = sum(min(state.marks.get(label, 0) for state in track.states) for track in tracks)
        fits = least <= seen and bool(tracks or not seen)
    if not fits:
        known = sorted({state.marks.get(label, 0) for track in tracks for state in track.states} or {0})
        possible = [{"marks": {label: {"atLeast": each} if each else 0}} for each in known]
        states = [line for track in tracks for line in track.told()]
        trail = tuple(clause for track in tracks for clause in track.trail())
        raise Refused({"marks": {label: seen}}, possible, states, Witnesses(of_marks(seen), trail))


def hold_statuses(observed: Any, tracks: Iterable[Track]) -> None:
    """Hold `instanceCounts` against what each id may count for (OBS-1, OBS-3)."""
    counts = observed.get("instanceCounts") if isinstance(observed, Mapping) else None
    if not isinstance(counts, Mapping):
        return
    least: dict[str, int] = dict.fromkeys(counts, 0)
    most: dict[str, int] = dict.fromkeys(counts, 0)
    for track in tracks:
        possible = [_statuses(track, state) for state in track.states]
        for status in counts:
            if track.out_of_sight:
                most[status] += 1
                continue
            least[status] += all(found == {status} for found in possible)
            most[status] += any(status in found for found in possible)
    for status, count in counts.items():
        if not least[status] <= count <= most[status]:
            possible_counts = [{status: each} for each in range(least[status], most[status] + 1)]
            states = [line for track in tracks for line in track.told()]
            raise Refused({status: count}, possible_counts, states, Witnesses(("OBS-1",)))


def _statuses(track: Track, state: State) -> set[str | None]:
    """What an id may be counted as; None: not at all."""
    slot = state.slot
    if not isinstance(slot, Instance):
        return {None}
    found: set[str | None] = set()
    for each in track.offers(state, ReadStatus(0)):
        found.add(each.reply.status if isinstance(each.reply, StatusAnswer) else None)
    if slot.terminal is not None and None in found:
        found.add(slot.terminal.status)  # OBS-3
    if slot.terminal is not None and slot.terminal_at + _retention(slot) <= track.world.late:
        found.add(None)  # OBS-3
    return found


def _retention(slot: Instance) -> int:
    return slot.rules.limits.retention_seconds * 1000


def _may_have(state: State, label: str, count: int) -> bool:
    least = state.marks.get(label, 0)
    if count == least:
        return True
    ahead = {mark for mind in state.minds if mind.node is not None for mark in mind.node.marks_ahead()}
    reached = least or label in state.perhaps or ANY_MARK in state.perhaps or label in ahead
    return bool(count > least and reached)


def _sums(sets: list[set[int]]) -> set[int] | None:
    """Every sum of one number out of each set; None when there are too many to say."""
    sums = {0}
    for each in sets:
        sums = {one + other for one in sums for other in each}
        if len(sums) > MOST_SUMS:
            return None
    return sums


def _narrow(track: Track, kept: list[State]) -> None:
    if len(kept) < len(track.states):
        track.states = {state: track.states[state] for state in kept}
