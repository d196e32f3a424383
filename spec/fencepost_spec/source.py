"""The documents that the clauses were written from, and how a copy of one differs from it.

Theory of operation. ``sources.toml`` keeps the SHA-256 of each document and a short digest of each of its
sentences. A copy with the same SHA-256 is the same document. Otherwise the digests of its sentences are
aligned with the stored ones, and every sentence that a clause points at is looked up: it stands where it
stood, or it has *moved* (the same text elsewhere), or it has *changed* (another text in its place), or it is
*missing*. A sentence that has no counterpart in the stored document is *new*: no clause can speak about it
yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from fencepost_spec.clause import Clause
from fencepost_spec.sentences import Sentence, number

Change = Literal["moved", "changed", "missing", "new"]


@dataclass(frozen=True)
class Source:
    """One source document: the digest of the file, and per named section the digests of its sentences."""

    key: str
    title: str
    sha256: str
    full_stop: str
    sections: Mapping[str, int]
    sentences: Mapping[str, tuple[str, ...]]
    aside: Mapping[str, str]
    """Why no clause points at a sentence, by ``section:number``."""

    def places(self) -> list[tuple[str, str]]:
        """Every sentence in order: (``section:number``, digest)."""
        return [
            (f"{section}:{place}", digest)
            for section, digests in self.sentences.items()
            for place, digest in enumerate(digests, 1)
        ]


@dataclass(frozen=True)
class SentenceChange:
    """One sentence that differs between document and copy, with the clauses that point at it."""

    change: Change
    place: str
    clauses: tuple[str, ...]
    now: str | None = None

    def __str__(self) -> str:
        """One readable line."""
        where = f" to {self.now}" if self.now else ""
        named = ", ".join(self.clauses) if self.clauses else "no clause speaks about it"
        return f"{self.place} {self.change}{where}: {named}"


@dataclass(frozen=True)
class SourceReport:
    """How a copy compares with the document that the catalogue was written from."""

    source: str
    title: str
    expected_sha256: str
    sha256: str
    changes: tuple[SentenceChange, ...]

    @property
    def is_same(self) -> bool:
        """Whether the copy is the same document, byte by byte."""
        return self.sha256 == self.expected_sha256

    @property
    def clauses(self) -> tuple[str, ...]:
        """The clauses whose sentences changed or are missing, in the order of the document."""
        touched = (change for change in self.changes if change.change in ("changed", "missing"))
        return tuple(dict.fromkeys(clause for change in touched for clause in change.clauses))

    def lines(self) -> list[str]:
        """The report as readable lines, the verdict first."""
        if self.is_same:
            return [f"{self.source}: the same document (SHA-256 {self.sha256})"]
        head = f"{self.source}: another document (SHA-256 {self.sha256}, not {self.expected_sha256})"
        if not self.changes:
            return [head, "every sentence that a clause points at stands where it stood"]
        return [head, *_folded(self.changes)]


def _folded(changes: Sequence[SentenceChange]) -> list[str]:
    """The changes as lines, where sentences that moved side by side share one."""
    runs: list[list[SentenceChange]] = []
    for change in changes:
        if runs and _follows(runs[-1][-1], change):
            runs[-1].append(change)
        else:
            runs.append([change])
    return [_line(run) for run in runs]


def _follows(first: SentenceChange, second: SentenceChange) -> bool:
    """Whether both moved, and stood and stand next to each other."""
    if first.change != "moved" or second.change != "moved":
        return False
    return all(
        (was.rpartition(":")[0], int(was.rpartition(":")[2]) + 1)
        == (now.rpartition(":")[0], int(now.rpartition(":")[2]))
        for was, now in ((first.place, second.place), (first.now or ":0", second.now or ":0"))
    )


def _line(run: Sequence[SentenceChange]) -> str:
    """One line for a run of sentences that moved together, or for a single change."""
    first, last = run[0], run[-1]
    if first is last:
        return str(first)
    clauses = dict.fromkeys(clause for change in run for clause in change.clauses)
    spans = [
        f"{a}-{b.rpartition(':')[2]}"
        for a, b in ((first.place, last.place), (first.now or "", last.now or ""))
    ]
    return f"{spans[0]} moved to {spans[1]}: {', '.join(clauses)}"


def compare(content: bytes, source: Source, clauses: Sequence[Clause]) -> SourceReport:
    """Compare a copy with ``source``; ``ValueError`` if it is no UTF-8."""
    sha256 = hashlib.sha256(content).hexdigest()
    changes: tuple[SentenceChange, ...] = ()
    if sha256 != source.sha256:
        copy = number(_text(content), source.full_stop)
        changes = tuple(_changes(source, copy, _pointing(source, clauses)))
    return SourceReport(source.key, source.title, source.sha256, sha256, changes)


def likeness(content: bytes, source: Source) -> int:
    """How many sentences of ``source`` stand in a copy; ``ValueError`` if it is no UTF-8."""
    there = {sentence.digest for sentence in number(_text(content), source.full_stop)}
    return sum(digest in there for _, digest in source.places())


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"the document is no UTF-8 (byte {error.start}); give a text file") from None


def _pointing(source: Source, clauses: Sequence[Clause]) -> dict[str, tuple[str, ...]]:
    """The clause ids by the ``section:number`` that they point at."""
    pointing: dict[str, tuple[str, ...]] = {}
    for clause in clauses:
        for sentence in clause.source:
            if sentence.source == source.key:
                place = f"{sentence.section}:{sentence.number}"
                pointing[place] = (*pointing.get(place, ()), clause.id)
    return pointing


def _changes(
    source: Source, copy: Sequence[Sentence], pointing: Mapping[str, tuple[str, ...]]
) -> Iterator[SentenceChange]:
    """The changes in the order of the stored document, what is new at its place in the copy."""
    names = {order: name for name, order in source.sections.items()}
    old = source.places()
    new = [(f"{names.get(s.section, f'section {s.section}')}:{s.number}", s.digest) for s in copy]
    blocks = SequenceMatcher(None, [d for _, d in old], [d for _, d in new], autojunk=False).get_opcodes()
    loose: dict[str, list[int]] = {}
    for tag, _, _, start, end in blocks:
        if tag != "equal":
            for index in range(start, end):
                loose.setdefault(new[index][1], []).append(index)
    found = {
        index: loose[old[index][1]].pop(0)
        for tag, start, end, _, _ in blocks
        if tag != "equal"
        for index in range(start, end)
        if loose.get(old[index][1])
    }
    taken = set(found.values())
    for tag, old_start, old_end, new_start, new_end in blocks:
        unexplained = [index for index in range(new_start, new_end) if tag != "equal" and index not in taken]
        for offset, index in enumerate(range(old_start, old_end)):
            place = old[index][0]
            clauses = pointing.get(place, ())
            target = new_start + offset if tag == "equal" else found.get(index)
            if target is None:
                now = new[unexplained.pop(0)][0] if unexplained else None
                if clauses:
                    yield SentenceChange("changed" if now else "missing", place, clauses, now)
            elif clauses and new[target][0] != place:
                yield SentenceChange("moved", place, clauses, new[target][0])
        for index in unexplained:
            yield SentenceChange("new", new[index][0], ())
