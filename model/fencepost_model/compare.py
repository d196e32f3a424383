"""The two-way comparison: TLC's graph of a bounded module and the machine's universe are one graph.

TLC dumps every reachable state and every edge. The universe is walked from its own initial world, with
nothing taken from the dump: each world's image must be a node, and the pairs (action, image of the
successor) must be exactly the edges that leave that node, neither fewer nor more. With equal initial states
it follows that each graph is contained in the other. Several worlds may have one image, since the machine
remembers more than the model; each of them is held against the node, so that their successors have equal
images too. Counts prove nothing and are printed only to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost_model import check
from fencepost_model.bounds import Bounds, bounds
from fencepost_model.configs import Configuration, load
from fencepost_model.fencing import Fencing
from fencepost_model.graph import Edge, Graph
from fencepost_model.resource import Resource
from fencepost_model.timeline import changes
from fencepost_model.universe import Universe
from fencepost_model.values import State, printed
from fencepost_model.waits import Waits

UNIVERSES: Mapping[str, Callable[[Bounds], Universe[Any]]] = {
    "Fencing": Fencing,
    "Waits": Waits,
    "Resource": Resource,
}
ENOUGH = 20
"""Mismatches after which the walk ends: one is shown, and the others follow from few causes."""

PROGRESS_EVERY = 2_000  # worlds


class NotComparable(ValueError):
    """A configuration whose module has no universe over the machine; the text says which have one."""


@dataclass(frozen=True)
class Mismatch:
    """A state in which the two differ: the edges that only TLC has, and those that only the machine has.

    `state` is None where the initial states differ. An edge of the machine may lead to a state that TLC
    never reached.
    """

    state: State | None
    model: tuple[Edge, ...]
    machine: tuple[Edge, ...]


@dataclass
class Comparison:
    """What came of it: `nodes` and `edges` that both have, and the worlds that they stand for."""

    configuration: Configuration
    nodes: int = 0
    edges: int = 0
    worlds: int = 0
    moves: int = 0
    unmet: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether the two graphs are one."""
        return not self.mismatches and not self.unmet


Progress = Callable[[int, int], None]
"""Hears how many nodes were met, of how many."""


def universe(configuration: str | Configuration) -> Universe[Any]:
    """The machine's universe under a configuration's bounds, or NotComparable."""
    chosen = load(configuration) if isinstance(configuration, str) else configuration
    if chosen.module not in UNIVERSES:
        raise NotComparable(f"{chosen.name} has no counterpart in the machine; choose {', '.join(UNIVERSES)}")
    return UNIVERSES[chosen.module](bounds(chosen))


def compare(configuration: str | Configuration, progress: Progress | None = None) -> Comparison:
    """Let TLC dump the configuration's graph, and compare it; raises as `check.explore`, or NotComparable."""
    chosen = load(configuration) if isinstance(configuration, str) else configuration
    walked = universe(chosen)
    return held_against(check.explore(chosen), walked, chosen, progress)


def held_against(
    graph: Graph,
    walked: Universe[Any],
    configuration: Configuration,
    progress: Progress | None = None,
    most: int = ENOUGH,
) -> Comparison:
    """The comparison of a graph at hand with a universe, until there are `most` mismatches."""
    found = Comparison(configuration)
    nodes = {state: node for node, state in graph.states.items()}
    places: dict[Hashable, int | State] = {}  # world -> its node, or its image where TLC has none
    queue: list[tuple[Any, int]] = []

    def place(world: Hashable) -> int | State:
        at = places.get(world)
        if at is None:
            image = walked.image(world)
            at = places[world] = nodes.get(image, image)
            if isinstance(at, int):
                queue.append((world, at))
        return at

    first = walked.initial()
    if {place(first)} != graph.initial:
        initial = tuple(("Init", graph.states[node]) for node in graph.initial)
        found.mismatches.append(Mismatch(None, initial, (("Init", walked.image(first)),)))
    met: set[int] = set()
    while queue and len(found.mismatches) < most:
        world, node = queue.pop()
        met.add(node)
        found.worlds += 1
        if progress is not None and found.worlds % PROGRESS_EVERY == 0:
            progress(len(met), len(graph.states))
        edges = set()
        for move in walked.moves(world):
            found.moves += 1
            edges.add((move.name, place(move.world)))
        expected = graph.edges.get(node, frozenset())
        if edges != expected:
            found.mismatches.append(_mismatch(graph, node, expected - edges, edges - expected))
    found.nodes = len(met)
    found.edges = sum(len(graph.edges.get(node, ())) for node in met)
    found.unmet = len(graph.states) - len(met)
    return found


def _mismatch(graph: Graph, node: int, model: Any, machine: Any) -> Mismatch:
    def edges(differing: Any) -> tuple[Edge, ...]:
        named = ((name, graph.states[to] if isinstance(to, int) else to) for name, to in differing)
        return tuple(sorted(named, key=lambda edge: (edge[0], printed(edge[1]))))

    return Mismatch(graph.states[node], edges(model), edges(machine))


def render(found: Comparison) -> str:
    """The figures, and one state in which the two differ with what only one side does there."""
    figures = f"{found.nodes:,} nodes, {found.edges:,} edges, {_mismatches(found)}"
    lines = [f"{found.configuration.name}: {figures} ({found.worlds:,} states of the machine)"]
    if found.unmet and found.equal:
        lines.append(f"  {found.unmet:,} states of TLC were never met by the machine")
    for mismatch in found.mismatches[:1]:
        if mismatch.state is None:
            lines.append("  The initial states differ.")
        else:
            lines.append("  In this state the two do not do the same:")
            lines += [f"    {name} = {printed(mismatch.state[name])}" for name in sorted(mismatch.state)]
        for side, edges in (("the model", mismatch.model), ("the machine", mismatch.machine)):
            lines.append(f"  Only {side}:{'' if edges else ' nothing'}")
            lines += [f"    {_edge(mismatch.state, name, state)}" for name, state in edges]
    return "\n".join(lines)


def _mismatches(found: Comparison) -> str:
    count = len(found.mismatches)
    return f"{count}{' or more' if count >= ENOUGH else ''} mismatches"


def _edge(before: State | None, name: str, after: State) -> str:
    if before is None:
        return printed(after)
    differences = (each for key in sorted(before) for each in changes(before[key], after[key], key))
    return f"{name}: {'; '.join(differences) or 'changes nothing'}"
