"""Cut a source document into numbered sentences, so that a clause can point at them.

Theory of operation. A clause says which sentences it was written from, as ``source/section:number``. The text
of a source is never stored here; what is stored is a short digest of every sentence, so that a copy of the
document can be compared with the one that the catalogue was written from.

The rules of segmentation:

* Front matter (a leading block between two ``---`` lines) belongs to no section.
* A line that begins with one to six ``#`` and a space is a heading. It opens the next section and is no
  sentence. A document without headings is one section. Text before the first heading is section 0.
* A fenced code block gives one sentence for each line that is not blank; the fences themselves give none.
* Elsewhere a blank line, a heading, a fence or a list marker (``-``, ``*``, ``•`` or a number with a full
  stop, after any indentation) ends a block. The lines of a block are joined.
* Inside a block a sentence ends behind the source's full stop: ``。`` wherever it stands, or, in a source
  whose full stop is ``.``, a point before white space. What is left at the end of a block is a sentence too.
* Sentences are numbered from 1 in every section.
* Before a sentence is digested all of its white space is removed, so that a copy that is wrapped in another
  way is still the same; the case and the form of every other character count.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

DIGEST_CHARACTERS = 16

_HEADING = re.compile(r"^#{1,6}\s")
_FENCE = re.compile(r"^\s*(```|~~~)")
_ITEM = re.compile(r"^\s*(?:[-*•]|\d+\.)\s+")
_ENDS = {"。": re.compile(r"(?<=。)"), ".": re.compile(r"(?<=\.)\s+")}


@dataclass(frozen=True)
class Sentence:
    """One sentence of a document: its section (by order), its number there from 1, and its short digest."""

    section: int
    number: int
    digest: str


def digest_of(text: str) -> str:
    """The short digest of one sentence: SHA-256 without its white space, in hexadecimal, cut."""
    squeezed = "".join(text.split())
    return hashlib.sha256(squeezed.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARACTERS]


def split(text: str, full_stop: str) -> list[tuple[int, str]]:
    """Every sentence of a document with the order of its section; the full stop is ``。`` or ``.``."""
    end = _ENDS[full_stop]
    return [
        (section, sentence.strip())
        for section, block, is_code in _blocks(text.removeprefix("\ufeff").splitlines())
        for sentence in ([block] if is_code else end.split(block))
        if sentence.strip()
    ]


def number(text: str, full_stop: str) -> list[Sentence]:
    """Every sentence of a document, numbered and digested, in the order of the document."""
    counts: dict[int, int] = {}
    sentences = []
    for section, sentence in split(text, full_stop):
        counts[section] = counts.get(section, 0) + 1
        sentences.append(Sentence(section, counts[section], digest_of(sentence)))
    return sentences


def _blocks(lines: list[str]) -> Iterator[tuple[int, str, bool]]:
    """Blocks of prose and single lines of code: (section, text, whether it is code)."""
    section, in_code = 0, False
    block: list[str] = []
    for line in _without_front_matter(lines):
        fence = _FENCE.match(line) is not None
        heading = not in_code and _HEADING.match(line) is not None
        item = None if in_code else _ITEM.match(line)
        if block and (fence or heading or item or not line.strip()):
            yield section, " ".join(block), False
            block = []
        if fence:
            in_code = not in_code
        elif in_code:
            yield section, line, True
        elif heading:
            section += 1
        elif line.strip():
            block.append(line[item.end() if item else 0 :].strip())
    if block:
        yield section, " ".join(block), False


def _without_front_matter(lines: list[str]) -> list[str]:
    """The lines behind a leading block between two ``---`` lines."""
    if lines and lines[0].rstrip() == "---":
        for index in range(1, len(lines)):
            if lines[index].rstrip() == "---":
                return lines[index + 1 :]
    return lines
