"""Graph dumps: what is read, and that a dump which is cut short is noticed."""

from pathlib import Path

import pytest
from fencepost_model.graph import BrokenDump, Graph, load, parse
from fencepost_model.messages import Run
from fencepost_model.values import state

DUMP = r"""strict digraph DiskGraph {
nodesep=0.35;
subgraph cluster_graph {
color="white";
-56 [label="/\\ own = 0\n/\\ dec = \"none\"",style = filled]
-56 -> 80 [label="Claim",color="black",fontcolor="black"];
80 [label="/\\ own = 1\n/\\ dec = \"none\""];
-56 -> -7 [label="Terminate",color="black",fontcolor="black"];
-7 [label="/\\ own = 0\n/\\ dec = \"terminated\""];
80 -> -56 [label="Expire",color="black",fontcolor="black"];
80 -> -56 [label="Expire",color="black",fontcolor="black"];
80 -> 80 [label="Renew",color="black",fontcolor="black"];
{rank = same; -56;}
{rank = same; 80;-7;}
}
}
"""
COUNTED = Run("passed", generated=6, distinct=3)


def read(text: str) -> Graph:
    return parse(text.splitlines())


def test_nodes_edges_and_initial_states_are_read() -> None:
    graph = read(DUMP)
    assert graph.states[80] == state('/\\ own = 1\n/\\ dec = "none"')
    assert graph.initial == {-56}
    assert graph.edges[80] == {("Expire", -56), ("Renew", 80)}
    assert graph.lines == 5
    assert graph.size == (3, 4)


def test_successors_are_actions_with_states() -> None:
    graph = read(DUMP)
    assert {action for action, _ in graph.successors(-56)} == {"Claim", "Terminate"}
    assert graph.successors(-7) == frozenset()


@pytest.mark.parametrize(
    ("without", "problem"),
    [
        ("}\n}\n", "cut short"),
        ('80 [label="/\\\\ own = 1\\n/\\\\ dec = \\"none\\""];\n', "does not have"),
    ],
)
def test_a_dump_that_is_cut_short_is_broken(without: str, problem: str) -> None:
    assert without in DUMP
    with pytest.raises(BrokenDump, match=problem):
        read(DUMP.replace(without, ""))


def test_half_a_line_is_broken() -> None:
    with pytest.raises(BrokenDump, match="no line of a dump"):
        read(DUMP.replace('80 -> 80 [label="Renew",color="black",fontcolor="black"];', "80 -> 80 [lab"))


def test_one_state_at_two_nodes_is_broken() -> None:
    with pytest.raises(BrokenDump, match="one state"):
        read(DUMP.replace(r"\"terminated\"", r"\"none\""))


def test_stuttering_edges_are_no_part_of_a_graph() -> None:
    with pytest.raises(BrokenDump, match="no line of a dump"):
        read(DUMP.replace("80 -> 80 [label", '80 -> 80 [style="dashed"];\n80 -> 80 [label'))


@pytest.mark.parametrize(
    ("counted", "problem"),
    [(Run("passed", generated=6, distinct=4), "states"), (Run("passed", generated=7, distinct=3), "edges")],
)
def test_a_dump_is_held_against_the_counts(tmp_path: Path, counted: Run, problem: str) -> None:
    path = tmp_path / "graph.dot"
    path.write_text(DUMP, encoding="utf-8")
    assert load(path, COUNTED).size == (3, 4)
    with pytest.raises(BrokenDump, match=problem):
        load(path, counted)
