"""Scenarios as the kit holds them: loaded, checked against their schema, chosen, and written in the house's
layout.

A scenario's id is its place among the shipped ones, ``CHAPTER/slug`` without the ending; a file from
elsewhere bears the name of the file. Shipped scenarios are not validated again at each run: a test of the
kit does it once.

They are of two suites. *form* judges a Host by the Form; *guarantees* by what the reference promises beyond
it (GRT), and has a verdict of its own.
"""

import fnmatch
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

FORMAT = "fencepost.scenario@1"
Suite = Literal["form", "guarantees"]
SUITES: Mapping[Suite, str] = {"form": "scenarios", "guarantees": "guarantees"}
"""The folder of each suite."""
OBSERVED = "observed"  # what a reproducer adds; no part of the scenario

_SINGLE_VERSION = "v1"
_WHOLE_WEIGHT = 10000
_ENDING = ".json"
_TELLING = frozenset({"call", "gate", "attempts", "ticking"})  # in a program: what a Host must offer


class ScenarioError(ValueError):
    """A document that is no scenario, or a name that is none: one line that says what to do."""


@dataclass(frozen=True)
class Scenario:
    """One scenario: its id and its document, which nobody changes."""

    id: str
    document: Mapping[str, Any]

    @property
    def title(self) -> str:
        """One sentence."""
        return str(self.document["title"])

    @property
    def clauses(self) -> tuple[str, ...]:
        """What it measures; the first is blamed where nothing else is."""
        return tuple(self.document["clauses"])

    @property
    def heavy(self) -> bool:
        """Whether it moves megabytes, and so is kept out of the fast selection."""
        return bool(self.document.get("heavy", False))

    @property
    def for_reference(self) -> bool:
        """Whether its figures rest on the reference's own choices."""
        return self.document.get("for") == "reference"

    @property
    def judged(self) -> bool:
        """Whether it carries no expectations: a judge says whether what was seen is admissible."""
        return bool(self.document.get("judged", False))

    @property
    def schedule(self) -> list[dict[str, Any]]:
        """The entries, in order."""
        return list(self.document["schedule"])

    @property
    def programs(self) -> Mapping[str, list[dict[str, Any]]]:
        """Programs by name."""
        programs: Mapping[str, list[dict[str, Any]]] = self.document.get("programs", {})
        return programs

    @cached_property
    def versions(self) -> tuple[str, ...]:
        """The names of the Versions."""
        return tuple(self.document.get("versions", {})) or (_SINGLE_VERSION,)

    @cached_property
    def deployed(self) -> Mapping[str, int]:
        """The weights at the start, one of them whole unless the scenario says otherwise."""
        given = self.document.get("deployed", self.versions[0])
        if isinstance(given, str):
            return {given: _WHOLE_WEIGHT}
        return dict(given or {})

    def program(self, name: str) -> Any:
        """What params carry for a program: its operations, or those of each Version."""
        versions = self.document.get("versions")
        names = (
            {None: name} if versions is None else {v: held.get(name, name) for v, held in versions.items()}
        )
        for wanted in names.values():
            if wanted not in self.programs:
                raise ScenarioError(f"{self.id}: there is no program {wanted!r}; add it under programs")
        if versions is None:
            return self.programs[name]
        return {version: self.programs[wanted] for version, wanted in names.items()}

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of all entries, also inside `start` and `dropResponse`, and telling ones of programs."""
        found = {word for entry in self.schedule for word in _words(entry)}
        found.update(_TELLING.intersection(_keys(self.programs)))
        if len(self.versions) > 1:
            found.add("deploy")
        return frozenset(found)


def parse(text: str, name: str, validate: bool = True) -> Scenario:
    """A scenario from JSON text; raises ScenarioError."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ScenarioError(f"{name}: not JSON ({error}); give one JSON object") from None
    return from_document(document, name, validate)


def from_document(document: Any, name: str, validate: bool = True) -> Scenario:
    """A scenario from its document, without what a reproducer observed; raises ScenarioError."""
    if isinstance(document, dict):
        document = {key: value for key, value in document.items() if key != OBSERVED}
    if validate:
        for problem in problems(document):
            raise ScenarioError(f"{name}: {problem}")
    return Scenario(name, document)


def problems(document: Any) -> list[str]:
    """What keeps a document from being a scenario, the first misfit first."""
    from fencepost_spec import schemas

    return list(schemas.problems("scenario", document))


def load(source: str | Path) -> Scenario:
    """A scenario by path or, for the shipped ones, by id; raises ScenarioError."""
    path = Path(source)
    if path.is_file():
        return parse(path.read_text(encoding="utf-8"), path.name.removesuffix(_ENDING))
    shipped = _shipped_file(str(source))
    if shipped is None:
        raise ScenarioError(f"{source}: no such file, and no shipped scenario has this id")
    return parse(shipped.read_text(encoding="utf-8"), str(source), validate=False)


def load_all(source: str | Path) -> list[Scenario]:
    """The scenario of a file, or all of a directory in the order of their ids; raises ScenarioError."""
    path = Path(source)
    if not path.is_dir():
        return [load(source)]
    found = [parse(file.read_text(encoding="utf-8"), name) for name, file in _walk(path)]
    if not found:
        raise ScenarioError(f"{source}: no scenario (*{_ENDING}) in this directory")
    return found


@cache
def shipped(suite: Suite = "form") -> tuple[Scenario, ...]:
    """Every scenario of a suite of the kit, in the order of their ids."""
    root = resources.files(__package__) / SUITES[suite]
    return tuple(parse(file.read_text(encoding="utf-8"), name, validate=False) for name, file in _walk(root))


def select(
    scenarios: Collection[Scenario],
    clauses: Collection[str] = (),
    only: Collection[str] = (),
    heavy: bool = True,
    reference: bool = True,
) -> list[Scenario]:
    """Those that measure a clause of `clauses` and whose id is in `only` (globs; empty: all)."""
    return [
        scenario
        for scenario in scenarios
        if (heavy or not scenario.heavy)
        and (reference or not scenario.for_reference)
        and (not clauses or any(_matches(clause, clauses) for clause in scenario.clauses))
        and (not only or _matches(scenario.id, only))
    ]


def dumps(scenario: Scenario | Mapping[str, Any]) -> str:
    """The house's layout: two spaces, one operation of a program and one entry of the schedule per line.

    Pure ASCII, so that no editor that normalizes text, and no look-alike, changes what a scenario says.
    """
    document = scenario.document if isinstance(scenario, Scenario) else scenario
    members = [f"  {_text(key)}: {_laid_out(key, value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(members) + "\n}\n"


def _laid_out(key: str, value: Any) -> str:
    if key == "schedule" and value:
        return _lines(value, "    ", "  ")
    if key == "programs" and value:
        programs = (
            f"    {_text(name)}: {_lines(program, '      ', '    ')}" for name, program in value.items()
        )
        return "{\n" + ",\n".join(programs) + "\n  }"
    return _text(value)


def _lines(values: list[Any], indent: str, closing: str) -> str:
    if not values:
        return "[]"
    return "[\n" + ",\n".join(indent + _text(value) for value in values) + f"\n{closing}]"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


def _matches(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _walk(root: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    for child in sorted(root.iterdir(), key=lambda child: child.name):
        if child.is_dir():
            yield from _walk(child, f"{prefix}{child.name}/")
        elif child.name.endswith(_ENDING):
            yield prefix + child.name.removesuffix(_ENDING), child


def _shipped_file(id: str) -> Traversable | None:
    if not re.fullmatch(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*", id) or ".." in id.split("/"):
        return None
    files = (
        resources.files(__package__).joinpath(folder, *f"{id}{_ENDING}".split("/"))
        for folder in SUITES.values()
    )
    return next((file for file in files if file.is_file()), None)


def _words(entry: Mapping[str, Any]) -> Iterator[str]:
    for word, argument in entry.items():
        yield word
        if word in ("start", "dropResponse") and isinstance(argument, dict):
            yield from _words(argument)


def _keys(value: Any) -> Iterator[str]:
    """Every key in a value, at any depth."""
    if isinstance(value, Mapping):
        yield from value
        for child in value.values():
            yield from _keys(child)
    elif isinstance(value, list):
        for child in value:
            yield from _keys(child)
