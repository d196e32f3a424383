"""What a scenario names must exist: clauses, choices, programs, Versions, and calls that were begun."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fencepost_spec.catalogue import Catalogue, load
from fencepost_spec.limits import FORM
from fencepost_spec.misfits import Place, Problem, listed, rank_of, suggestion

_NESTED = ("start", "dropResponse")


def scenario_problems(scenario: Mapping[str, Any]) -> Iterator[Problem]:
    """Every name in a well-formed scenario that leads nowhere."""
    for path, text in _faults(scenario):
        yield Problem(rank_of(path, scenario), path, text)


def _faults(scenario: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    catalogue = load()
    for index, clause in enumerate(scenario["clauses"]):
        yield from _clause(catalogue, ("clauses", index), clause)
    yield from _versions(scenario)
    named = _named_programs(scenario)
    versions = list(scenario.get("versions", ()))
    begun: set[str] = set()
    histories: set[str] = set()
    for index, entry in enumerate(scenario["schedule"]):
        place: Place = ("schedule", index)
        yield from _marks(catalogue, scenario, place, entry)
        yield from _program(named, place, entry)
        for word in _NESTED:
            if word in entry:
                yield from _program(named, (*place, word), entry[word])
        if "start" in entry:
            begun.add(entry["as"])
        for word in ("await", "pending"):
            if word in entry and entry[word] not in begun:
                yield (
                    (*place, word),
                    f"no call {entry[word]!r} was started{suggestion(entry[word], sorted(begun))}",
                )
        if "history" in entry:
            yield from _histories(histories, (*place, "expect"), entry.get("expect", {}))
            histories.add(entry.get("as", ""))
        if "deploy" in entry:
            yield from _weights(versions, (*place, "deploy"), entry["deploy"])


def _clause(catalogue: Catalogue, path: Place, clause: str) -> Iterator[tuple[Place, str]]:
    if clause not in catalogue.clauses:
        yield path, f"there is no clause {clause!r}{suggestion(clause, list(catalogue.clauses))}"


def _marks(
    catalogue: Catalogue, scenario: Mapping[str, Any], place: Place, entry: Mapping[str, Any]
) -> Iterator[tuple[Place, str]]:
    """The clauses and choices that an entry and its expectations name."""
    if "clause" in entry:
        yield from _clause(catalogue, (*place, "clause"), entry["clause"])
    expect = entry.get("expect", [])
    listing = isinstance(expect, list)
    for index, expectation in enumerate(expect if listing else [expect]):
        path: Place = (*place, "expect", index) if listing else (*place, "expect")
        for word in ("clause", "of"):
            if word in expectation:
                yield from _clause(catalogue, (*path, word), expectation[word])
        if "choice" in expectation:
            yield from _choice(catalogue, scenario, path, expectation)


def _choice(
    catalogue: Catalogue, scenario: Mapping[str, Any], path: Place, expectation: Mapping[str, Any]
) -> Iterator[tuple[Place, str]]:
    """A choice belongs to the open clause that ``of`` names, or else to the first clause of the scenario."""
    clause = catalogue.clauses.get(expectation.get("of", scenario["clauses"][0]))
    if clause is None:
        return
    names = [choice.name for choice in clause.choices]
    if not names:
        yield (*path, "choice"), f"{clause.id} is not open; name an open clause with 'of'"
    elif expectation["choice"] not in names:
        yield (*path, "choice"), f"{clause.id} has no such choice; its choices are {listed(names)}"


def _histories(kept: set[str], path: Place, expect: Any) -> Iterator[tuple[Place, str]]:
    """The earlier histories that an expectation compares with."""
    for form in expect if isinstance(expect, list) else [expect]:
        for word in ("since", "apart"):
            if word in form and form[word] not in kept:
                hint = suggestion(form[word], sorted(kept))
                yield path, f"{word}: no history was kept as {form[word]!r}{hint}"


def _named_programs(scenario: Mapping[str, Any]) -> list[str]:
    """The programs that a create may name: those of the Versions if there are any, else all."""
    if "versions" in scenario:
        return list(dict.fromkeys(name for programs in scenario["versions"].values() for name in programs))
    return list(scenario.get("programs", ()))


def _program(named: list[str], place: Place, entry: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    if "create" in entry and "program" in entry and entry["program"] not in named:
        known = f"the programs are {listed(named)}" if named else "there are no programs"
        yield (*place, "program"), f"there is no program {entry['program']!r}; {known}"


def _versions(scenario: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    versions = scenario.get("versions", {})
    for version, programs in versions.items():
        for name, program in programs.items():
            if program not in scenario.get("programs", ()):
                yield ("versions", version, name), f"there is no program {program!r}"
    if "deployed" in scenario and scenario["deployed"] not in versions:
        known = f"the Versions are {listed(list(versions))}" if versions else "there are no versions"
        yield ("deployed",), f"there is no Version {scenario['deployed']!r}; {known}"


def _weights(versions: list[str], path: Place, weights: Mapping[str, int]) -> Iterator[tuple[Place, str]]:
    for version in weights:
        if version not in versions:
            yield (*path, version), f"there is no such Version{suggestion(version, versions)}"
    if weights and sum(weights.values()) != FORM.deployment_weight:
        yield path, f"the weights must sum to {FORM.deployment_weight}, not {sum(weights.values())}"
