"""How documents are cut into sentences, and how a copy is held against the stored one."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from fencepost_spec.catalogue import compare_source, load
from fencepost_spec.clause import Clause, SourceSentence
from fencepost_spec.sentences import digest_of, number, split
from fencepost_spec.source import Source, SourceReport, compare

DOCUMENT = """\
---
title: not a sentence。
---
# First

A one。A two
goes on。A rest

- item one。item two
  of it。
- second item
1. third item

```text
code one。code one goes on

code two
```

## Second

B one。B two。B three。B four。B five。
"""

SENTENCES = [
    (1, "A one。"),
    (1, "A two goes on。"),
    (1, "A rest"),
    (1, "item one。"),
    (1, "item two of it。"),
    (1, "second item"),
    (1, "third item"),
    (1, "code one。code one goes on"),
    (1, "code two"),
    (2, "B one。"),
    (2, "B two。"),
    (2, "B three。"),
    (2, "B four。"),
    (2, "B five。"),
]


def stored() -> Source:
    sentences = number(DOCUMENT, "。")
    return Source(
        key="made",
        title="Made up",
        sha256=hashlib.sha256(DOCUMENT.encode()).hexdigest(),
        full_stop="。",
        sections={"first": 1, "second": 2},
        sentences={
            name: tuple(s.digest for s in sentences if s.section == order)
            for name, order in (("first", 1), ("second", 2))
        },
        aside={},
    )


def clause(name: str, *places: str) -> Clause:
    pointers = tuple(
        SourceSentence("made", place.partition(":")[0], int(place.partition(":")[2]), "") for place in places
    )
    return Clause(name, "ABC", "required", "It holds.", pointers)


CLAUSES = [
    clause("ABC-1", "first:1", "first:2"),
    clause("ABC-2", "second:2"),
    clause("ABC-3", "second:3", "second:4"),
]


def compared(text: str) -> SourceReport:
    return compare(text.encode(), stored(), CLAUSES)


def test_a_document_is_cut_by_the_rules() -> None:
    assert split(DOCUMENT, "。") == SENTENCES


def test_sentences_are_numbered_from_one_in_each_section() -> None:
    numbers = [(sentence.section, sentence.number) for sentence in number(DOCUMENT, "。")]
    assert numbers == [(1, n) for n in range(1, 10)] + [(2, n) for n in range(1, 6)]


def test_a_point_ends_a_sentence_only_before_white_space() -> None:
    assert split("About v1.2 of a.b(). Then more.\n", ".") == [(0, "About v1.2 of a.b()."), (0, "Then more.")]


def test_a_digest_disregards_wrapping_and_nothing_else() -> None:
    assert digest_of("A two\ngoes on。") == digest_of("A  two goes on。")
    assert digest_of("A two goes on。") != digest_of("a two goes on。")


def test_an_unclosed_front_matter_is_text() -> None:
    assert split("---\nA。\n", "。") == [(0, "---"), (0, "A。")] or split("---\nA。\n", "。") == [
        (0, "--- A。")
    ]


def test_the_same_document_is_known_by_its_digest() -> None:
    report = compared(DOCUMENT)
    assert report.is_same
    assert report.changes == ()
    assert report.lines()[0].startswith("made: the same document")


def test_another_wrapping_or_line_ending_changes_no_sentence() -> None:
    report = compared(DOCUMENT.replace("two\ngoes", "two goes").replace("\n", "\r\n"))
    assert not report.is_same
    assert report.changes == ()
    assert report.lines()[1] == "every sentence that a clause points at stands where it stood"


@pytest.mark.parametrize(
    ("old", "new", "lines", "clauses"),
    [
        ("B three。", "B 3。", ["second:3 changed to second:3: ABC-3"], ("ABC-3",)),
        ("B five。", "", [], ()),
        (
            "B two。",
            "",
            ["second:2 missing: ABC-2", "second:3-4 moved to second:2-3: ABC-3"],
            ("ABC-2",),
        ),
        (
            "B one。",
            "B one。B new。",
            ["second:2 new: no clause speaks about it", "second:2-4 moved to second:3-5: ABC-2, ABC-3"],
            (),
        ),
        (
            "B two。B three。B four。",
            "B three。B four。B two。",
            ["second:2 moved to second:4: ABC-2", "second:3-4 moved to second:2-3: ABC-3"],
            (),
        ),
        ("## Second", "", [
            "second:2-4 moved to first:11-13: ABC-2, ABC-3",
        ], ()),
        ("# First", "# Zeroth\n\nNew。\n\n# First", [
            "first:1 new: no clause speaks about it",
            "first:1-2 moved to second:1-2: ABC-1",
            "second:2-4 moved to section 3:2-4: ABC-2, ABC-3",
        ], ()),
    ],
)  # fmt: skip
def test_a_change_names_the_sentence_and_its_clauses(
    old: str, new: str, lines: list[str], clauses: tuple[str, ...]
) -> None:
    assert DOCUMENT.count(old) == 1 or old == "# First"
    report = compared(DOCUMENT.replace(old, new, 1))
    assert not report.is_same
    assert report.lines()[1:] == (lines or ["every sentence that a clause points at stands where it stood"])
    assert report.clauses == clauses


def test_an_empty_copy_misses_every_sentence_that_a_clause_points_at() -> None:
    report = compared("")
    assert [change.place for change in report.changes] == [
        "first:1",
        "first:2",
        "second:2",
        "second:3",
        "second:4",
    ]
    assert {change.change for change in report.changes} == {"missing"}


def test_a_copy_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "copy"
    path.write_bytes(b"abc\xff")
    with pytest.raises(ValueError, match=r"no UTF-8 \(byte 3\)"):
        compare_source(path)


def test_a_copy_of_nothing_known_is_compared_with_the_form(tmp_path: Path) -> None:
    path = tmp_path / "copy"
    path.write_text("Something else.", "utf-8")
    report = compare_source(path)
    assert report.source == "form"
    assert not report.is_same
    assert len(report.clauses) == sum(
        any(sentence.source == "form" for sentence in clause.source) for clause in load().clauses.values()
    )
    assert compare_source(path, "boundary").source == "boundary"
    with pytest.raises(KeyError, match="the sources are form, guarantees, boundary"):
        compare_source(path, "elsewhere")
