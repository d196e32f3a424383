"""The machine's graph and TLC's are one, and a machine with one line changed has another."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from fencepost_model import check, compare, configs, graph, tools

from .mutants import MUTANTS, Mutant, plant

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
def test_a_changed_machine_is_another(
    dumped: Dumped, monkeypatch: pytest.MonkeyPatch, mutant: Mutant
) -> None:
    graph = dumped(mutant.configuration)
    plant(monkeypatch, mutant)
    configuration = configs.load(mutant.configuration)
    found = compare.held_against(graph, compare.universe(configuration), configuration)
    assert not found.equal
    shown = compare.render(found)
    assert "In this state the two do not do the same" in shown


def test_each_mutant_has_a_clause_or_a_reason() -> None:
    assert len(MUTANTS) >= 15
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_a_module_without_a_machine_is_refused() -> None:
    with pytest.raises(compare.NotComparable, match="choose Fencing, Waits, Resource"):
        compare.universe("DurableWorkflowSmall")
