"""The universe of a configuration walked without Java: the same states, the same properties, in pure Python.

Breadth first, so that a counterexample is as short as there is one. Each world of the machine is looked at
through its image, and two things are checked of the machine beside what the module states: that what it says
is *enabled* is what it accepts, and that worlds with one image have successors with equal images.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from fencepost.machine import enabled
from fencepost.machine.actions import Action, Claim, EndLifetime, StopAck, Wake

from fencepost_model import predicates
from fencepost_model.compare import PROGRESS_EVERY, universe
from fencepost_model.configs import Configuration, Property, load, stated
from fencepost_model.graph import Edge
from fencepost_model.messages import Entry
from fencepost_model.timeline import changes
from fencepost_model.universe import LEASE_UNTIL, Move, One, Universe
from fencepost_model.values import State

ENABLED = Property("Enabled", "what the machine says it may do by itself is what it accepts", ("GRT-4",))
FUNCTION = Property("Function", "machine states with one image have successors with equal images", ("GRT-3",))
_BY_ITSELF = (Claim, Wake, EndLifetime, StopAck)


@dataclass
class Exploration:
    """What came of it; `trace` leads to the state in which `broken` broke, with the machine's actions."""

    configuration: Configuration
    states: int = 0
    edges: int = 0
    worlds: int = 0
    moves: int = 0
    depth: int = 0
    seconds: float = 0.0
    broken: Property | None = None
    trace: tuple[Entry, ...] = ()
    actions: tuple[tuple[Action, ...], ...] = field(default=(), repr=False)

    @property
    def passed(self) -> bool:
        """Whether every property holds."""
        return self.broken is None


Progress = Callable[[int, int, int], None]
"""Hears of the states met, the worlds on the queue, and the depth."""

_Came = dict[Any, tuple[Any, Move[Any]] | None]


def explore(
    configuration: str | Configuration, progress: Progress | None = None, walked: Universe[Any] | None = None
) -> Exploration:
    """Walk a configuration's universe and check all that Python can check; raises NotComparable."""
    chosen = load(configuration) if isinstance(configuration, str) else configuration
    return _Walk(chosen, walked or universe(chosen), progress).run()


class _Walk:
    def __init__(
        self, configuration: Configuration, walked: Universe[Any], progress: Progress | None
    ) -> None:
        self.universe, self.progress = walked, progress
        self.found = Exploration(configuration)
        checked = predicates.of(configuration.module)
        wanted = set(configuration.invariants) | set(configuration.properties)
        self.invariants = {name: each for name, each in checked.invariants.items() if name in wanted}
        self.properties = {name: each for name, each in checked.properties.items() if name in wanted}
        self.stated = stated(configuration.module)
        self.came: _Came = {}
        self.edges: dict[State, frozenset[Edge]] = {}
        self.looked_at: set[tuple[State, State]] = set()

    def run(self) -> Exploration:
        began = monotonic()
        first = self.universe.initial()
        self.came[first] = None
        level = [first]
        while level and self.found.broken is None:
            deeper: list[Any] = []
            self.found.depth += 1
            for world in level:
                if self.look(world, deeper):
                    break
                self.found.worlds += 1
                if self.progress is not None and self.found.worlds % PROGRESS_EVERY == 0:
                    self.progress(len(self.edges), len(level) + len(deeper), self.found.depth)
            level = deeper
        self.found.states = len(self.edges)
        self.found.edges = sum(map(len, self.edges.values()))
        self.found.seconds = monotonic() - began
        return self.found

    def look(self, world: Any, deeper: list[Any]) -> bool:
        """Check a world and its moves; whether something broke."""
        image = self.universe.image(world)
        moves = list(self.universe.moves(world))
        self.found.moves += len(moves)
        here = self.here(image, moves)
        for name, holds in self.invariants.items():
            if image not in self.edges and not holds(here):
                return self.breaks(self.stated[name], world)
        if isinstance(world, One) and not agrees(world, moves):
            return self.breaks(ENABLED, world)
        edges = []
        for move in moves:
            if move.world not in self.came:
                self.came[move.world] = (world, move)
                deeper.append(move.world)
            after = self.universe.image(move.world)
            edges.append((move.name, after))
            if (image, after) not in self.looked_at:
                self.looked_at.add((image, after))
                there = predicates.Here(self.universe.bounds, after)
                for name, kept in self.properties.items():
                    if not kept(here, there):
                        return self.breaks(self.stated[name], world, move)
        found = frozenset(edges)
        if self.edges.setdefault(image, found) != found:
            return self.breaks(FUNCTION, world)
        return False

    def here(self, image: State, moves: list[Move[Any]]) -> predicates.Here:
        sends = frozenset(move.actions[0].type for move in moves if move.name == "SendEvent")  # type: ignore[attr-defined]
        return predicates.Here(self.universe.bounds, image, frozenset(move.name for move in moves), sends)

    def breaks(self, broken: Property, world: Any, last: Move[Any] | None = None) -> bool:
        """Keep the way to this world as the counterexample."""
        way = [last] if last is not None else []
        at = world
        while (came := self.came[at]) is not None:
            at, move = came
            way.append(move)
        way.reverse()
        entries = [Entry("Init", self.universe.image(at))]
        entries += [Entry(move.name, self.universe.image(move.world)) for move in way]
        self.found.broken, self.found.trace = broken, tuple(entries)
        self.found.actions = tuple(move.actions for move in way)
        return True


def agrees(world: One, moves: list[Move[One]]) -> bool:
    """Whether `enabled` lists what was accepted of the machine's own moves; here alone claims are bounded."""
    accepted = {
        type(action): action.now
        for move in moves
        for action in move.actions
        if isinstance(action, _BY_ITSELF)
    }
    now = accepted.get(Wake, 0)
    listed = {
        type(each) for each in enabled(world.slot, now, lease=LEASE_UNTIL) if isinstance(each, _BY_ITSELF)
    }
    return set(accepted) - {Claim} == listed - {Claim} and (Claim not in accepted or Claim in listed)


def render(found: Exploration) -> str:
    """The figures, or the counterexample as a timeline."""
    name = found.configuration.name
    if found.broken is None:
        return (
            f"{name}: holds on {found.states:,} states, {found.edges:,} edges "
            f"({found.worlds:,} states of the machine, depth {found.depth}, {found.seconds:.1f} s)"
        )
    lines = [
        f"{name}: {found.broken.name} broke ({', '.join(found.broken.clauses)})",
        f"  It says: {found.broken.meaning}",
        "",
    ]
    for number, (before, entry) in enumerate(zip(found.trace, found.trace[1:], strict=False), 2):
        differences = (
            each for key in sorted(before.state) for each in changes(before.state[key], entry.state[key], key)
        )
        lines.append(f"{number:>4}  {entry.action:<14}{'; '.join(differences) or 'changes nothing'}")
    return "\n".join(lines)
