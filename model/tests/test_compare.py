"""The machine's graph and TLC's are one, and a machine with one line changed has another."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from fencepost_model import check, compare, configs, graph, tools
from fencepost_model.mutants import MUTANTS, Mutant, StaleMutant, planted

SMALL = ("FencingSmall", "WaitsSmall", "ResourceSmall")
Dumped = Callable[[str], graph.Graph]


@pytest.fixture(scope="session")
def dumped(tlc_tools: tools.Tools) -> Dumped:
    """TLC's graph of a configuration, dumped once in a session."""
    return cache(check.explore)


def held_against(dumped: Dumped, name: str) -> compare.Comparison:
    configuration = configs.load(name)
    return compare.held_against(dumped(name), compare.universe(configuration), configuration)


@pytest.mark.parametrize("name", SMALL)
def test_the_two_graphs_are_one(dumped: Dumped, name: str) -> None:
    found = held_against(dumped, name)
    assert found.equal, compare.render(found)
    assert (found.nodes, found.edges) == dumped(name).size
    assert found.worlds > found.nodes  # some states of the machine share an image, and agree
    assert ", 0 mismatches" in compare.render(found)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_a_changed_machine_is_another(dumped: Dumped, mutant: Mutant) -> None:
    graph = dumped(mutant.configuration)
    configuration = configs.load(mutant.configuration)
    with planted(mutant):
        found = compare.held_against(graph, compare.universe(configuration), configuration, most=1)
    assert not found.equal
    assert "In this state the two do not do the same" in compare.render(found)


def test_a_mutant_leaves_nothing_behind(dumped: Dumped) -> None:
    with planted(MUTANTS[0]):
        pass
    assert held_against(dumped, MUTANTS[0].configuration).equal


def test_a_stale_mutant_is_an_error() -> None:
    stale = Mutant("stale", "FencingSmall", MUTANTS[0].function, "no such text", "")
    with pytest.raises(StaleMutant, match="stands 0 times"), planted(stale):
        pass


def test_each_mutant_has_a_clause_or_a_reason() -> None:
    assert len(MUTANTS) >= 15
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_a_module_without_a_machine_is_refused() -> None:
    with pytest.raises(compare.NotComparable, match="choose Fencing, Waits, Resource"):
        compare.universe("DurableWorkflowSmall")
