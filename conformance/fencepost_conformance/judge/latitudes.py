"""Every admissible latitude, without a list of who reads which.

The machine and the execution of application code read a `Latitude` field by field. A judge hands them a
`Choices` instead: each read of a field is a *decision*, and `explore` runs a function once for every way to
decide, so that a field which is new tomorrow is explored without anybody remembering to name it here.

Three tables go with it. `ASIDE` names fields that are read at nearly every step and that only some programs
can show; for the others the first choice stands for all. `STANCE` names fields on which a Host is taken to
stand the same way throughout, so that there is a pass for each way. `HOST` names fields that no code of the
machine reads, because they belong to a Host's own runtime, and says where the judge admits them. A test
holds that every field is in `HOST` or is read as a decision.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from itertools import product
from typing import Any, TypeVar

from fencepost.machine.latitude import Latitude

Result = TypeVar("Result")

CHOICES: Mapping[str, tuple[str, ...]] = {each.name: each.metadata["choices"] for each in fields(Latitude)}
"""Field -> its admissible choices, the reference's first."""

REFERENCE: dict[str, str] = {field: choices[0] for field, choices in CHOICES.items()}
"""The choices of the reference."""

CONCURRENT = frozenset({"together", "race", "unawaited", "nested"})
"""Words of programs in which two calls can be under way in one context."""

_OVERLAP = "two calls under way in one context"
_COPY = "a step's result that is changed, or that its canonical form changes"
_WIDE = "a document of more than 1024 properties"

_UNFIT = "a step's result that is no document"

ASIDE: Mapping[str, str] = {
    "park_after": _OVERLAP,
    "bad_argument": _OVERLAP,
    "current_turn": _OVERLAP,
    "first_result": _COPY,
    "bound_of_properties": _WIDE,
    "unfit_root": _WIDE,
}
"""Field -> what a program must have, so that its choices can be told apart."""

STANCE: Mapping[str, str] = {
    "two_replays": _OVERLAP,
    "replay_beside_new": _OVERLAP,
    "unawaited_replay": _OVERLAP,
    "invalid_result": _UNFIT,
}
"""Field -> what a program must have, so that a Host's choice, the same throughout, can be told."""

ALWAYS: Mapping[str, str] = {"overlapped_effect": "started"}
"""Field -> the choice that allows whatever the others do: begun at the call, an effect may start any time."""

HOST: Mapping[str, str] = {
    "unprovable_terminate": "a terminate that is not proven is rejected, or not answered (replies)",
    "broken_module": "the probe's module is never broken",
    "extra_contexts": "runs and marks have a lower bound only, and a restart may run what is parked",
    "error_message": "messages and further keys of a status are not compared (replies)",
    "bad_id_look_up": "a look-up under an id that is none may be rejected in any way (calling)",
    "not_ready": "a create without a Deployment may be rejected in any way (calling)",
    "clock": "a history is judged once in milliseconds and once in whole seconds",
    "counts_after_retention": "counts range over both (tallies)",
}
"""Field -> where a judge admits it, for fields that belong to a Host's runtime."""


def traits(params: Any) -> frozenset[str]:
    """What the params of an instance have of that which `ASIDE` asks for."""
    words, long, odd, held = set[str](), False, False, set[int]()
    pending = [params]
    while pending:
        value = pending.pop()
        if isinstance(value, dict | list):
            if id(value) in held:
                continue
            held.add(id(value))
        if isinstance(value, dict):
            long = long or len(value) > 1024
            words.update(key for key in value if isinstance(key, str))
            odd = odd or value.get("$oddity", value.get("oddity")) in ("negativeZero", "properties1025")
            odd = odd or ("set" in value and "." in str(value["set"]))
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
        elif value == "properties1025":
            long = True
        elif type(value) is float:
            odd = True
    held_by = {
        _OVERLAP: words & CONCURRENT,
        _COPY: odd,
        _WIDE: long or "$array" in words,
        _UNFIT: words & {"oddity", "$oddity", "$size", "$repeat", "$array", "$string"},
    }
    return frozenset(trait for trait, shown in held_by.items() if shown)


def overlaps(found: frozenset[str]) -> bool:
    """Whether two calls can be under way in one context of programs with these traits."""
    return _OVERLAP in found


def stances(found: frozenset[str]) -> Iterator[dict[str, str]]:
    """The ways in which a Host may stand to `STANCE` as far as programs with these traits show it; last, one
    that is not the same throughout."""
    shown = [field for field, trait in STANCE.items() if trait in found]
    rest = {field: CHOICES[field][0] for field in STANCE if field not in shown}
    for choices in product(*(CHOICES[field] for field in shown)):
        yield {**rest, **dict(zip(shown, choices, strict=True))}
    if "invalid_result" in shown:
        yield {field: CHOICES[field][0] for field in STANCE if field != "invalid_result"}


def told_by(found: frozenset[str]) -> frozenset[str]:
    """The fields of `STANCE` that programs with these traits can show."""
    return frozenset(field for field, trait in STANCE.items() if trait in found)


def set_aside(found: frozenset[str]) -> dict[str, str]:
    """The fields that programs with these traits cannot show, each with the choice that stands for all."""
    return {**ALWAYS, **{field: CHOICES[field][0] for field, trait in ASIDE.items() if trait not in found}}


class Choices:
    """Stands where a `Latitude` is read; inside `explore` a field that is not set aside is a decision.

    Of the fields that are `watched` it is known whether they were `consulted`.
    """

    def __init__(self) -> None:
        self.aside: Mapping[str, str] = {}
        self.watched: frozenset[str] = frozenset()
        self.consulted: set[str] = set()
        self.read: set[str] = set()
        self._forced: tuple[str, ...] = ()
        self._trail: list[str] = []
        self._decided: dict[str, str] = {}

    def __getattr__(self, field: str) -> str:
        if field.startswith("_") or field not in CHOICES:
            raise AttributeError(field)
        if field in self.watched:
            self.consulted.add(field)
        return self.aside.get(field) or self._decide(field)

    def _decide(self, field: str) -> str:
        decided = self._decided.get(field)
        if decided is None:
            self.read.add(field)
            place = len(self._trail)
            decided = self._forced[place] if place < len(self._forced) else CHOICES[field][0]
            self._trail.append(field)
            self._decided[field] = decided
        return decided

    def explore(self, function: Callable[[], Result]) -> Iterator[Result]:
        """What a function comes to under each way to decide what it reads; the reference's way first."""
        pending: list[tuple[str, ...]] = [()]
        while pending:
            self._forced, self._trail, self._decided = pending.pop(), [], {}
            forced = self._forced
            result = function()
            trail, decided = self._trail, self._decided
            for place in range(len(forced), len(trail)):
                before = tuple(decided[field] for field in trail[:place])
                pending.extend((*before, other) for other in CHOICES[trail[place]][1:])
            yield result


def latitude_of(choices: Choices) -> Latitude:
    """The choices under the type that the machine's rules ask for."""
    return choices  # type: ignore[return-value]
