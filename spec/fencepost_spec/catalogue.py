"""The clause catalogue: everything that the Form asks of a Host, clause by clause, read from data.

Theory of operation. ``clauses/<CHAPTER>.toml`` has the clauses of one chapter and ``sources.toml`` what is
known of the documents behind them. A clause names a limit as ``%{field}``; the figure is filled in from
``limits``. A clause that says several things of different strength is split: the plain id keeps the first
part, the others append a letter. Loading checks what a reader of the data relies on (an argument for what is
derived, choices for what is open, source sentences that exist) and fails with one line that names the clause.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fencepost_spec.clause import STRENGTHS, Choice, Clause, SourceSentence, Strength, split_id
from fencepost_spec.limits import TABLE
from fencepost_spec.source import Source, SourceReport, compare, likeness

__all__ = [
    "Catalogue",
    "Chapter",
    "Choice",
    "Clause",
    "Source",
    "SourceReport",
    "SourceSentence",
    "Strength",
    "compare_source",
    "load",
]

_PLACEHOLDER = re.compile(r"%\{([^}]*)\}")
_KEYS = {"id", "strength", "statement", "argument", "choices", "reference", "unobservable", "source"}


@dataclass(frozen=True)
class Chapter:
    """A chapter of the catalogue: the ids of its clauses, in order."""

    name: str
    title: str
    clauses: tuple[str, ...]


@dataclass(frozen=True)
class Catalogue:
    """All clauses, chapters and sources, with one digest over the statements."""

    version: str
    digest: str
    clauses: Mapping[str, Clause]
    chapters: Mapping[str, Chapter]
    sources: Mapping[str, Source]

    def clause(self, clause: str) -> Clause:
        """The clause of that id; ``KeyError`` with the nearest ids if there is none."""
        if clause not in self.clauses:
            near = difflib.get_close_matches(clause.upper(), self.clauses, n=3)
            raise KeyError(
                f"there is no clause {clause!r}" + (f"; near it: {', '.join(near)}" if near else "")
            )
        return self.clauses[clause]

    def of_strength(self, *strengths: Strength) -> tuple[Clause, ...]:
        """The clauses of these strengths, in the order of the catalogue."""
        return tuple(clause for clause in self.clauses.values() if clause.strength in strengths)

    @property
    def judged(self) -> tuple[Clause, ...]:
        """The clauses on which a Host gets a verdict."""
        return tuple(clause for clause in self.clauses.values() if clause.is_judged)


@cache
def load() -> Catalogue:
    """The catalogue, read once; ``ValueError`` with one line if its data is at fault."""
    data = resources.files("fencepost_spec")
    about = tomllib.loads(data.joinpath("catalogue.toml").read_text("utf-8"))
    documents = tomllib.loads(data.joinpath("sources.toml").read_text("utf-8"))["source"]
    sources = {key: _source(key, entry) for key, entry in documents.items()}
    clauses: dict[str, Clause] = {}
    chapters: dict[str, Chapter] = {}
    for name in about["chapters"]:
        chapter = tomllib.loads(data.joinpath("clauses", f"{name}.toml").read_text("utf-8"))
        own = [_clause(name, entry, sources) for entry in chapter["clause"]]
        for clause in own:
            if clause.id in clauses:
                raise ValueError(f"{clause.id}: stated twice")
            clauses[clause.id] = clause
        chapters[name] = Chapter(name, chapter["title"], tuple(clause.id for clause in own))
    return Catalogue(
        version=about["version"],
        digest=_digest(about["version"], clauses),
        clauses=MappingProxyType(clauses),
        chapters=MappingProxyType(chapters),
        sources=MappingProxyType(sources),
    )


def compare_source(path: str | Path, source: str | None = None) -> SourceReport:
    """Compare a copy of a source document with the one that the clauses were written from.

    Without ``source`` it is taken for the document that it shares most sentences with. ``OSError`` if the
    file cannot be read, ``ValueError`` if it is no UTF-8, ``KeyError`` if there is no such source.
    """
    catalogue = load()
    content = Path(path).read_bytes()
    if source is None:
        nearest = max(catalogue.sources.values(), key=lambda known: likeness(content, known))
    elif source in catalogue.sources:
        nearest = catalogue.sources[source]
    else:
        raise KeyError(f"there is no source {source!r}; the sources are {', '.join(catalogue.sources)}")
    return compare(content, nearest, tuple(catalogue.clauses.values()))


def _digest(version: str, clauses: Mapping[str, Clause]) -> str:
    """SHA-256 over every clause with its limits filled in, so that any change of what is asked shows."""
    rows = [version, *(asdict(clause) for clause in clauses.values())]
    text = json.dumps(rows, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _clause(chapter: str, entry: Mapping[str, Any], sources: Mapping[str, Source]) -> Clause:
    """One clause from its data, checked."""
    name = str(entry.get("id", f"a clause of {chapter} without id"))
    if unknown := sorted(set(entry) - _KEYS):
        raise ValueError(f"{name}: unknown key {unknown[0]!r}")
    if split_id(name)[0] != chapter:
        raise ValueError(f"{name}: stands in chapter {chapter}")
    if entry["strength"] not in STRENGTHS:
        raise ValueError(f"{name}: strength {entry['strength']!r} is none of {', '.join(STRENGTHS)}")
    choices = tuple(Choice(choice["name"], choice["meaning"]) for choice in entry.get("choices", ()))
    clause = Clause(
        id=name,
        chapter=chapter,
        strength=entry["strength"],
        statement=_filled(name, entry["statement"]),
        source=tuple(_sentence(name, pointer, sources) for pointer in entry["source"]),
        argument=_filled(name, entry["argument"]) if "argument" in entry else None,
        choices=choices,
        reference=entry.get("reference"),
        unobservable=_filled(name, entry["unobservable"]) if "unobservable" in entry else None,
    )
    for fault in _faults(clause):
        raise ValueError(f"{name}: {fault}")
    return clause


def _faults(clause: Clause) -> Iterator[str]:
    """What is wrong with the shape of a clause."""
    names = [choice.name for choice in clause.choices]
    if (clause.strength == "derived") != (clause.argument is not None):
        yield "a derived clause, and no other, has an argument"
    if (clause.strength == "open") != (len(names) > 1):
        yield "an open clause, and no other, has two choices or more"
    if len(set(names)) != len(names):
        yield "two of its choices have one name"
    if clause.reference != (names[0] if names else None):
        yield "the reference's choice is named, and stands first"
    if not clause.source:
        yield "it points at no sentence"


def _filled(name: str, text: str) -> str:
    """The text on one line, with the figures of the limits that it names."""

    def figure(match: re.Match[str]) -> str:
        if match[1] not in TABLE:
            raise ValueError(f"{name}: there is no limit {match[1]!r}")
        return f"{TABLE[match[1]].value:,}"

    return _PLACEHOLDER.sub(figure, " ".join(text.split()))


def _sentence(name: str, pointer: str, sources: Mapping[str, Source]) -> SourceSentence:
    """The sentence that a pointer ``source/section:number`` names."""
    key, _, place = pointer.partition("/")
    section, _, figure = place.partition(":")
    digests = sources[key].sentences.get(section, ()) if key in sources else ()
    if not figure.isdecimal() or not 0 < int(figure) <= len(digests):
        raise ValueError(f"{name}: {pointer!r} points at no sentence")
    return SourceSentence(key, section, int(figure), digests[int(figure) - 1])


def _source(key: str, entry: Mapping[str, Any]) -> Source:
    """One source document from its data."""
    return Source(
        key=key,
        title=entry["title"],
        sha256=entry["sha256"],
        full_stop=entry["full_stop"],
        sections=MappingProxyType(dict(entry["sections"])),
        sentences=MappingProxyType({name: tuple(digests) for name, digests in entry["sentences"].items()}),
        aside=MappingProxyType(
            {
                place: row["reason"]
                for row in entry["aside"]
                for span in row["sentences"]
                for place in _places(span)
            }
        ),
    )


def _places(span: str) -> list[str]:
    """The places of a span such as ``text:4`` or ``text:11-12``."""
    section, _, figures = span.partition(":")
    first, _, last = figures.partition("-")
    return [f"{section}:{place}" for place in range(int(first), int(last or first) + 1)]
