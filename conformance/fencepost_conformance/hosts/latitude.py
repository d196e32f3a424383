"""Fair hosts: the reference under other admissible choices of the points that the Form leaves open.

A host is named by its choices, as in ``final_rejection=fresh-context,clock=whole-seconds``; what is not named
is as the reference has it. Fields are those of the machine's `Latitude`, and three more whose choices live
elsewhere: in the management (`changed_spec`), and in what a Host does at which moment (`stops`,
`parked_at_restart`, `overdue`), which no action of the machine knows.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

from fencepost.host.managed import ManagedHost
from fencepost.machine import REFERENCE, Latitude, Rules
from fencepost.machine.records import evolve
from fencepost.machine.state import Instance
from fencepost.management import state as management

from ..adapter import Setup
from .reference import ReferenceAdapter


class UnknownChoice(ValueError):
    """A field or a choice that does not exist; one line that says which there are."""


@dataclass(frozen=True)
class Field:
    """An open point: its clause and its choices, the reference's first."""

    name: str
    clause: str
    choices: tuple[str, ...]


class WhenLetRun(ManagedHost):
    """Stops contexts only when it is let run; a terminate stays in flight until then."""

    at_rest = True

    def settle(self) -> None:
        self.at_rest = False
        super().settle()
        self.at_rest = True

    def can_stop(self, key: tuple[str, str], token: int) -> bool:
        return not self.at_rest and super().can_stop(key, token)


class RunAgain(ManagedHost):
    """Starts a context for what is parked too, after a restart."""

    def restart(self) -> None:
        super().restart()
        for key, slot in list(self.slots.items()):
            if isinstance(slot, Instance) and slot.live and not slot.owner:
                self.slots[key] = evolve(slot, current=None)


class RunsBeforeCalls(ManagedHost):
    """Does what is overdue before it looks at a caller's call."""

    running = False

    def reach(self) -> None:
        super().reach()
        if not self.running:
            self.running = True
            self.run()
            self.running = False


_HABITS: Mapping[str, tuple[Field, Mapping[str, type]]] = MappingProxyType(
    {
        "stops": (Field("stops", "TRM-6", ("at-once", "when-let-run")), {"when-let-run": WhenLetRun}),
        "parked_at_restart": (
            Field("parked_at_restart", "CTX-3a", ("stays", "runs-again")),
            {"runs-again": RunAgain},
        ),
        "overdue": (
            Field("overdue", "SLP-6", ("after-calls", "before-calls")),
            {"before-calls": RunsBeforeCalls},
        ),
    }
)
_CHANGED_SPEC = "changed_spec"


def open_fields() -> Mapping[str, Field]:
    """Every open point that a fair host may choose on, by the name of its field."""
    found = {
        each.name: Field(each.name, each.metadata["clause"], tuple(each.metadata["choices"]))
        for each in fields(Latitude)
    }
    spec = get_args(get_type_hints(management.Rules)[_CHANGED_SPEC])
    found[_CHANGED_SPEC] = Field(_CHANGED_SPEC, "RES-8a", spec)
    return found | {name: habit for name, (habit, _) in _HABITS.items()}


def parse(text: str) -> dict[str, str]:
    """The choices that a host is named by; raises UnknownChoice."""
    known, chosen = open_fields(), {}
    for part in text.split(","):
        name, _, choice = part.partition("=")
        if name not in known:
            raise UnknownChoice(f"{name}: no such open point; see 'fencepost list latitudes'")
        if choice not in known[name].choices:
            raise UnknownChoice(f"{part}: {name} is one of {', '.join(known[name].choices)}")
        chosen[name] = choice
    return chosen


def name_of(chosen: Mapping[str, str]) -> str:
    """The name of the host that takes these choices; the reference's own are left out."""
    known = open_fields()
    return ",".join(f"{name}={choice}" for name, choice in chosen.items() if choice != known[name].choices[0])


def choices(text: str) -> dict[str, str]:
    """The choice of a fair host on every open point; raises UnknownChoice."""
    chosen = {name: each.choices[0] for name, each in open_fields().items()} | parse(text)
    if chosen["stops"] == "when-let-run":  # it stops nothing at once, and cannot call other stops unprovable
        chosen["unprovable_terminate"] = "unanswered"
    return chosen


def make(text: str, read: set[str] | None = None) -> ReferenceAdapter:
    """The adapter of a fair host; raises UnknownChoice. `read` tells which open points were read
    since a scenario began; those that no machine knows are taken to be read in each."""
    chosen = choices(text)
    bases = tuple(classes[chosen[name]] for name, (_, classes) in _HABITS.items() if chosen[name] in classes)
    latitude = replace(REFERENCE, **{name: chosen[name] for name in vars(REFERENCE)})
    host = _host((*bases, ManagedHost), chosen[_CHANGED_SPEC])
    if read is None:
        return ReferenceAdapter(host, Rules(latitude=latitude))
    return _Watched(host, latitude, read)


class _Watched(ReferenceAdapter):
    """Notes which open points are read in a scenario."""

    def __init__(self, host: type[ManagedHost], latitude: Latitude, read: set[str]) -> None:
        super().__init__(host, Rules(latitude=_noting(latitude, read)))
        self._read = read

    def begin(self, setup: Setup) -> None:
        self._read.clear()
        self._read.update((_CHANGED_SPEC, *_HABITS))
        super().begin(setup)


def _noting(latitude: Latitude, read: set[str]) -> Latitude:
    """The same choices, and each that is read is noted."""
    names = frozenset(vars(latitude))

    class Noting(Latitude):
        def __getattribute__(self, name: str) -> Any:
            if name in names:
                read.add(name)
            return super().__getattribute__(name)

    return Noting(**vars(latitude))


def _host(bases: tuple[type, ...], changed_spec: str) -> type[ManagedHost]:
    def begin(self: Any, *arguments: Any, **named: Any) -> None:
        super(made, self).__init__(*arguments, **named)
        state = self.management.state
        rules = replace(state.rules, changed_spec=changed_spec)
        self.management.state = replace(state, rules=rules)

    made: Any = type("Fair", bases, {"__init__": begin})
    return made  # type: ignore[no-any-return]


def singles() -> list[str]:
    """Every other choice of every open point, one at a time."""
    return [f"{each.name}={choice}" for each in open_fields().values() for choice in each.choices[1:]]


def combinations(count: int, seed: int) -> list[str]:
    """Random combinations of choices over all open points, the same for an equal seed."""
    chance, known = random.Random(seed), open_fields()
    made: list[str] = []
    while len(made) < count:
        name = name_of({each.name: chance.choice(each.choices) for each in known.values()})
        made.extend([name] if name else [])
    return made


__all__ = [
    *("Field", "UnknownChoice"),
    *("choices", "combinations", "make", "name_of", "open_fields", "parse", "singles"),
]
