"""The graph of all reachable states that TLC dumps: nodes, and edges with the names of their actions.

A dump that was cut short would make two different graphs look alike, so a graph is only given out when its
nodes and edges are as many as TLC counted and no state stands at two nodes. Labels carry no parameters: two
calls of one action that lead to one state are two lines, and one edge here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fencepost_model.messages import Run
from fencepost_model.values import State, state

Edge = tuple[str, State]


class BrokenDump(ValueError):
    """A dump that is cut short or disagrees with what TLC counted."""


@dataclass(frozen=True)
class Graph:
    """States by TLC's fingerprint, the initial ones, and for each the set of (action, fingerprint)."""

    states: dict[int, State]
    initial: frozenset[int]
    edges: dict[int, frozenset[tuple[str, int]]]
    lines: int

    def successors(self, node: int) -> frozenset[Edge]:
        """The (action, state) pairs that lead out of a node."""
        return frozenset((action, self.states[target]) for action, target in self.edges.get(node, ()))

    @property
    def size(self) -> tuple[int, int]:
        """How many nodes, and how many edges that differ."""
        return len(self.states), sum(map(len, self.edges.values()))


_NODE = re.compile(r'(-?\d+) \[label="((?:[^"\\]|\\.)*)"(,style = filled)?\];?$')
_EDGE = re.compile(r'(-?\d+) -> (-?\d+) \[label="((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


def parse(lines: Iterable[str]) -> Graph:
    """The graph of a dump with action labels, or BrokenDump."""
    labels: dict[int, str] = {}
    initial: set[int] = set()
    edges: dict[int, set[tuple[str, int]]] = {}
    count, last = 0, ""
    for line in lines:
        line = line.strip()
        last = line or last
        if match := _EDGE.match(line):
            edges.setdefault(int(match[1]), set()).add((match[3], int(match[2])))
            count += 1
        elif match := _NODE.match(line):
            labels[int(match[1])] = match[2]
            if match[3]:
                initial.add(int(match[1]))
        elif line and not line.startswith(("strict digraph", "nodesep", "subgraph", "color", "{rank", "}")):
            raise BrokenDump(f"no line of a dump: {line[:60]!r}")
    if last != "}":
        raise BrokenDump("the dump is cut short: its last line closes nothing")
    missing = {target for found in edges.values() for _, target in found} - labels.keys()
    if missing or edges.keys() - labels.keys():
        raise BrokenDump(f"edges touch {len(missing)} states that the dump does not have")
    states = {node: state(_ESCAPED.sub(_unescape, label)) for node, label in labels.items()}
    if len(set(states.values())) != len(states):
        raise BrokenDump("two nodes of the dump have one state")
    return Graph(states, frozenset(initial), {node: frozenset(each) for node, each in edges.items()}, count)


def load(dump: Path, run: Run) -> Graph:
    """The graph in a file, held against the counts of the run that wrote it, or BrokenDump."""
    with dump.open(encoding="utf-8") as lines:
        graph = parse(lines)
    if len(graph.states) != run.distinct:
        raise BrokenDump(f"the dump has {len(graph.states)} states, TLC counted {run.distinct}")
    if graph.lines != run.generated - len(graph.initial):
        expected = run.generated - len(graph.initial)
        raise BrokenDump(f"the dump has {graph.lines} edges, TLC counted {expected}")
    return graph


def _unescape(match: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(match[1], match[1])
