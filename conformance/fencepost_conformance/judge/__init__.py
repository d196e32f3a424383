"""The judge: whether some behaviour of the machine explains what was observed at a Host.

    verdict = judge(scenario, run.observations, handshake)
    verdict.admitted or print(verdict)

Everything that may be the case at an id is a set of *states* (`states`), each a slot of the machine and
where the code of its contexts stands (`code`). The set is carried along what is seen (`track`): what a Host
may do by itself in between adds to it (`moves`), what is seen takes away from it, and when nothing is left
the observation is refused. Every admissible latitude and every order of internal moves is in it
(`latitudes`). The judge asks the machine what follows from what, and knows no rule of its own.

Under an exact clock a Host that has settled has done everything that it must. Under a real one it may always
be late, and never early by more than the tolerance.
"""

from collections.abc import Mapping, Sequence
from itertools import product

from ..adapter import Handshake
from ..observations import Observation
from ..run import word_of
from ..scenario import Scenario
from .blame import of_programs, ranked
from .calling import CALLS
from .contents import of_contents
from .instruments import INSTRUMENTS, Handler
from .judgement import MILLISECONDS, Judgement
from .latitudes import REFERENCE, stances, traits
from .replies import seen
from .verdict import Admitted, NotAdmitted, Refused, Unjudged, Verdict

__all__ = ["Admitted", "NotAdmitted", "Verdict", "judge"]

_MOST_CLAUSES = 8

_ENTRIES: Mapping[str, Handler] = {**INSTRUMENTS, **CALLS}


def judge(
    scenario: Scenario,
    observations: Sequence[Observation],
    handshake: Handshake,
    *,
    tolerance_milliseconds: int | None = None,
    fine_clock: bool = False,
    losses: int | None = None,
) -> Verdict:
    """Judge a scenario by what was observed; without a tolerance the kit held the Host's clock.

    `fine_clock` says that the Host's clock counts milliseconds, `losses` that it is the reference, whose
    owners may have been lost at any moment: what the journal counted says how often. So many of the lost are
    taken to go on beside the next owner. Then no marks are judged, and the journal must be read at the end.
    """
    first: Verdict | None = None
    coarse = not fine_clock and _has_fractions(scenario, tolerance_milliseconds)
    clocks = (False, True) if coarse else (False,)  # TIM-1
    tried: list[tuple[bool, tuple[dict[str, str], set[str]]]] = []
    ways = [REFERENCE] if losses is not None else stances(traits(dict(scenario.programs)))
    for whole_seconds, stance in product(clocks, ways):
        if any(clock == whole_seconds and _is_alike(stance, *rest) for clock, rest in tried):
            continue
        judgement = Judgement(
            scenario,
            handshake,
            tolerance_milliseconds,
            whole_seconds=whole_seconds,
            stance=stance,
            losses=losses,
        )
        verdict = _pass(judgement, scenario, observations)
        if verdict.admitted:
            return verdict
        tried.append((whole_seconds, (stance, judgement.world.choices.consulted)))
        first = first or verdict
    assert first is not None
    return first


def _is_alike(stance: dict[str, str], other: dict[str, str], consulted: set[str]) -> bool:
    """Whether a stance differs from one that was tried in nothing that was consulted then."""
    return all(stance.get(field) == other.get(field) for field in consulted)


def _pass(judgement: Judgement, scenario: Scenario, observations: Sequence[Observation]) -> Verdict:
    by_entry: dict[int, list[Observation]] = {}
    for each in observations:
        by_entry.setdefault(each.index, []).append(each)
    last = max(by_entry, default=-1)
    ceilings = _ceilings(by_entry, last) if judgement.world.losses is not None else [None] * (last + 1)
    try:
        for index, entry in enumerate(scenario.schedule[: last + 1]):
            shown = by_entry.get(index, [])
            word = word_of(entry)
            judgement.world.ceiling = ceilings[index]
            try:
                for each in shown[:1]:
                    judgement.at(each)
                _ENTRIES[word](judgement, entry, shown)
            except Refused as refused:
                return _refusal(index, word, scenario, refused)
            except Unjudged as reason:
                return Admitted((f"not judged from schedule[{index}] on: {reason}",))
    finally:
        judgement.end()
    unknown = ("effects of an instance whose id is not known were not judged",) * judgement.tallies.foggy
    lost = [f"out of sight: {each.out_of_sight}" for each in judgement.tracks.values() if each.out_of_sight]
    return Admitted((*unknown, *lost))


def _ceilings(by_entry: Mapping[int, list[Observation]], last: int) -> list[Mapping[str, int] | None]:
    """For each entry what the journal had counted when it was read next: nothing had begun more often."""
    ceilings: list[Mapping[str, int] | None] = [None] * (last + 1)
    known: Mapping[str, int] | None = None
    for index in range(last, -1, -1):
        for each in reversed(by_entry.get(index, ())):
            if isinstance(each.answer, Mapping) and "effects" in each.answer:
                known = each.answer["effects"]
        ceilings[index] = known
    return ceilings


def _refusal(index: int, word: str, scenario: Scenario, refused: Refused) -> NotAdmitted:
    """The answer to a refusal; the scenario up to it is a witness as well."""
    shown = seen(refused.seen)
    answer = (*of_programs(shown, refused.possible, scenario.programs), *refused.witnesses.answer)
    contents = of_contents(scenario.schedule[: index + 1], scenario.programs)
    clauses = ranked(refused.witnesses._replace(answer=answer), contents)
    return NotAdmitted(
        index,
        word,
        shown,
        refused.possible,
        refused.states,
        tuple(clauses[:_MOST_CLAUSES]),
        refused.because,
        others=tuple(clauses[_MOST_CLAUSES:]),
    )


def _has_fractions(scenario: Scenario, tolerance: int | None) -> bool:
    """Whether a clock in whole seconds could read other instants than one in milliseconds."""
    moved = (entry["advance"] for entry in scenario.schedule if "advance" in entry)
    return tolerance is not None or any(round(each * MILLISECONDS) % MILLISECONDS for each in moved)
