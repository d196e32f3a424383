"""The invariants and action properties of the modules, as Python predicates over states of the model.

They carry the names under which the modules state them, where their meaning and clauses stand too; a test
holds the names against the configurations. What is left to TLC: liveness, which needs fairness, and the
refinement of `DurableWorkflow`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from fencepost_model.bounds import NAMES, Bounds
from fencepost_model.values import State


@dataclass(frozen=True, slots=True)
class Here:
    """A state under its bounds, with the actions that can happen in it and the types that can be sent."""

    bounds: Bounds
    state: State
    actions: frozenset[str] = frozenset()
    sends: frozenset[str] = frozenset()

    def __getitem__(self, name: str) -> Any:
        return self.state[name]

    @property
    def program(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """The steps of the instance's program, each with its name."""
        return tuple(zip(NAMES, self.bounds["Body"].get(self.state["prog"], ()), strict=False))

    @property
    def first(self) -> tuple[str, Mapping[str, Any]] | None:
        """The first unfinished step of the program."""
        return next((each for each in self.program if self.state["hist"][each[0]] == 0), None)

    @property
    def held_live(self) -> bool:
        """Whether an instance is held that is not decided."""
        return self.state["prog"] != "none" and {self.state["dec"], self.state["term"]} == {"none"}

    def context(self, token: int) -> State | None:
        """The context with this token."""
        return next((each for each in self.state["ctx"] if each["token"] == token), None)


Invariant = Callable[[Here], bool]
Property = Callable[[Here, Here], bool]


class Predicates(NamedTuple):
    """What a module states of every state, and of every move."""

    invariants: Mapping[str, Invariant]
    properties: Mapping[str, Property]


def gathered(invariants: tuple[Invariant, ...], properties: tuple[Property, ...]) -> Predicates:
    """Predicates under their names in the modules: `only_owner_commits` states `OnlyOwnerCommits`."""

    def named(functions: tuple[Any, ...]) -> Mapping[str, Any]:
        return MappingProxyType({each.__name__.title().replace("_", ""): each for each in functions})

    return Predicates(named(invariants), named(properties))


def of(module: str) -> Predicates:
    """The predicates of a module."""
    from fencepost_model.predicates import fencing, resource, waits

    return {"Fencing": fencing.PREDICATES, "Waits": waits.PREDICATES, "Resource": resource.PREDICATES}[module]
