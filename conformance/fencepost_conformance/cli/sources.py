"""Where commands get their inputs: the catalogue, scenarios by path or id, and what a selection of globs
picks."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from fencepost_spec import catalogue as spec_catalogue
from fencepost_spec.catalogue import Catalogue

from .. import scenario as scenarios
from ..probe import javascript
from ..report.model import Kit, Selection
from ..scenario import SUITES, Scenario, ScenarioError, Suite
from ..verdict import standing
from .trouble import Trouble, of_file


def catalogue() -> Catalogue:
    """The clauses that Hosts are judged by."""
    return spec_catalogue.load()


def kit() -> Kit:
    """The versions that a verdict rests on."""
    clauses = catalogue()
    return Kit(version("fencepost"), clauses.version, clauses.digest, javascript.source().digest)


def shipped() -> tuple[Scenario, ...]:
    """Every scenario of the kit, of both suites."""
    return tuple(each for suite in SUITES for each in scenarios.shipped(suite))


def scenario(source: str) -> Scenario:
    """One scenario, by the path of a file or the id of a shipped one."""
    try:
        return scenarios.load(source)
    except OSError as error:
        raise of_file(source, error) from error
    except (ScenarioError, UnicodeDecodeError) as error:
        hint = near(source, [each.id for each in shipped()]) if not Path(source).exists() else ""
        raise Trouble(f"{error}{hint or _listed(source)}") from error


def _listed(source: str) -> str:
    return "" if Path(source).exists() else "; see 'fencepost list scenarios'"


@dataclass(frozen=True)
class Chosen:
    """What a selection picks: the scenarios to run, and the clauses to judge (None: all of them)."""

    scenarios: tuple[Scenario, ...]
    clauses: frozenset[str] | None


def choose(selection: Selection, reference: bool, suite: Suite = "form") -> Chosen:
    """The scenarios and clauses of a selection; a glob that matches nothing is trouble."""
    every = scenarios.shipped(suite)
    clauses = catalogue().clauses
    for glob in selection.clauses:
        if not any(fnmatch.fnmatchcase(clause, glob) for clause in clauses):
            raise Trouble(
                f"--clause {glob}: no such clause{near(glob, clauses) or '; see fencepost list clauses'}"
            )
    for glob in selection.scenarios:
        if not any(fnmatch.fnmatchcase(each.id, glob) for each in every):
            ids = [each.id for each in every]
            raise Trouble(
                f"--scenario {glob}: no such scenario{near(glob, ids) or '; see fencepost list scenarios'}"
            )
    picked = scenarios.select(every, selection.clauses, selection.scenarios, selection.heavy, reference)
    if not picked:
        raise Trouble("the selection leaves no check to run; widen --clause or --scenario")
    judged = _judged(selection, clauses, picked)
    if judged is None and suite != "form":
        judged = frozenset(name for name, each in clauses.items() if standing(each, suite) == "judged")
    return Chosen(tuple(picked), judged)


def _judged(
    selection: Selection, clauses: Iterable[str], picked: Collection[Scenario]
) -> frozenset[str] | None:
    """`--clause` says which clauses are judged; without it, `--scenario` judges what those measure."""
    if selection.clauses:
        return frozenset(
            clause
            for clause in clauses
            if any(fnmatch.fnmatchcase(clause, glob) for glob in selection.clauses)
        )
    if selection.scenarios:
        return frozenset(clause for each in picked for clause in each.clauses)
    return None


def measuring() -> Mapping[str, tuple[Scenario, ...]]:
    """The shipped scenarios that measure each clause."""
    measured: dict[str, list[Scenario]] = {}
    for each in shipped():
        for clause in each.clauses:
            measured.setdefault(clause, []).append(each)
    return {clause: tuple(each) for clause, each in measured.items()}


def near(word: str, words: Iterable[str]) -> str:
    """A hint at the words that are spelled nearly like this one, or nothing."""
    by_fold = {each.casefold(): each for each in words}
    found = difflib.get_close_matches(word.casefold(), by_fold, n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(by_fold[each] for each in found)}?" if found else ""
