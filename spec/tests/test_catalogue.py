"""The catalogue against witnesses that were written by hand: ids, strengths, the shape of every clause."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

import pytest
from fencepost_spec import catalogue as module
from fencepost_spec.catalogue import Catalogue, load
from fencepost_spec.clause import split_id
from fencepost_spec.limits import TABLE

IDS = {
    "RES": "1 2 3 4 5 6 7 8 8a 9 10 11",
    "OBS": "1 2 2a 3",
    "RDY": "1",
    "DEL": "1 2 3 3a 4 5 6 7 8 9",
    "BND": "1 2 3 4 5 6 7 8 9 9a 10 10a 11 11a 11b 12 13 14 14a 14b",
    "DOC": "1 2 3 4 5 6 7 8 9 10 11 11a 11b 12 12a 12b 13 14",
    "EVT": "1 2 3 4 5 6 7 8 9 10 11",
    "STA": "1 1a",
    "TRM": "1 2 3 4 5 6 6a 6b",
    "ABI": "1 2 3 4 5 5a",
    "CTX": "1 2 3 3a 4",
    "STP": "1 2 3 3a 4 4a 4b 5 6 6a 7 8 9 9a 10 10a 10b 10c 10d 10e 10f 10g 11 12 13 14 15 16 17",
    "DO": "1 2 3 4 5 6 6a 7 8 9 9a 9b 10 11 12",
    "SLP": "1 2 3 4 5 6",
    "WFE": "1 2 3 4 5 5a 6 7 7a 8 9 10 11",
    "ERR": "1 2 3 4 5 6",
    "LIF": "1 2 3 3a 4 5 5a 5b 5c",
    "PUB": "1 2 3",
    "RET": "1 2 3 4",
    "TIM": "1",
    "EXT": "1 2",
    "AUT": "1",
    "GRT": "1 2 3 4 5 6 7 8 9 10 11",
}

STRENGTHS = {
    "required": (
        "RES-1 RES-6 OBS-1 DEL-1 DEL-3 BND-3 BND-7 DOC-2 DOC-6 EVT-3 TRM-1 TRM-3 ABI-2 CTX-1 CTX-2 "
        "STP-3 STP-4 STP-6 STP-8 STP-9 DO-3 DO-5 DO-6 SLP-2 SLP-4 WFE-2 WFE-5 ERR-2 ERR-3 LIF-1 PUB-1 "
        "RET-1 RET-3 EXT-1 EXT-2"
    ),
    "derived": (
        "RES-11 OBS-2a BND-12 BND-13 DOC-9 DOC-10 EVT-4 EVT-5 EVT-11 TRM-4 TRM-5 ABI-4 CTX-3 STP-3a "
        "STP-4a STP-7 STP-9a STP-12 STP-17 DO-6a DO-8 DO-10 DO-12 SLP-5 WFE-5a WFE-6 WFE-7 WFE-10 "
        "ERR-5 ERR-6 LIF-3a LIF-4 LIF-5 PUB-2"
    ),
    "open": (
        "RES-8a OBS-3 RDY-1 DEL-3a BND-9 BND-14b DOC-12 DOC-13 DOC-14 EVT-10 STA-1 STA-1a TRM-6 "
        "TRM-6a TRM-6b ABI-5 CTX-3a CTX-4 STP-4b STP-6a STP-10 STP-10g STP-11 STP-15 DO-9 DO-11 SLP-6 "
        "WFE-7a LIF-2 LIF-3 LIF-5b PUB-3 RET-2 RET-4 TIM-1"
    ),
    "exclusion": "AUT-1",
    "reference": "GRT-1 GRT-3 GRT-11",
}

UNOBSERVABLE = {"DEL-3a", "EXT-2"}

REFERENCE_CHOICES = {
    "RDY-1": "rejected",
    "DOC-13": "every-level",
    "DOC-14": "decoded-copy",
    "EVT-10": "handed-over",
    "CTX-4": "overlapping",
    "ABI-5": "run-threw",
    "STP-10b": "after-turn",
    "STP-11": "goes-on",
    "DO-9": "sleeping",
    "DO-9a": "same-context",
    "DO-9b": "failed-attempt",
    "DO-11": "not-counted",
    "SLP-6": "woken",
    "WFE-7a": "same-context",
    "LIF-2": "lifetime-wins",
    "LIF-3": "parked",
    "PUB-3": "refused",
}


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load()


def test_every_clause_is_there_and_in_order(catalogue: Catalogue) -> None:
    expected = [f"{chapter}-{number}" for chapter, numbers in IDS.items() for number in numbers.split()]
    assert list(catalogue.clauses) == expected
    assert list(catalogue.chapters) == list(IDS)
    for chapter in catalogue.chapters.values():
        assert list(chapter.clauses) == [clause for clause in expected if split_id(clause)[0] == chapter.name]


def test_strengths_agree_with_the_witness(catalogue: Catalogue) -> None:
    found = {
        clause: catalogue.clauses[clause].strength for ids in STRENGTHS.values() for clause in ids.split()
    }
    assert found == {clause: strength for strength, ids in STRENGTHS.items() for clause in ids.split()}
    assert {clause.id for clause in catalogue.of_strength("reference")} == {f"GRT-{n}" for n in range(1, 12)}
    assert [clause.id for clause in catalogue.of_strength("exclusion")] == ["AUT-1"]


def test_only_what_has_no_behaviour_of_its_own_is_unobservable(catalogue: Catalogue) -> None:
    found = {clause.id for clause in catalogue.clauses.values() if clause.unobservable is not None}
    assert found == UNOBSERVABLE
    judged = {clause.id for clause in catalogue.judged}
    assert judged == {clause.id for clause in catalogue.of_strength("required", "derived")} - UNOBSERVABLE


def test_derived_clauses_argue_and_open_ones_offer_choices(catalogue: Catalogue) -> None:
    for clause in catalogue.clauses.values():
        assert (clause.argument is not None) == (clause.strength == "derived"), clause.id
        assert (len(clause.choices) >= 2) == (clause.strength == "open"), clause.id
        for choice in clause.choices:
            assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", choice.name), clause.id
            assert choice.meaning, clause.id
        if clause.choices:
            assert clause.reference == clause.choices[0].name, clause.id


def test_the_reference_takes_the_choices_of_the_witness(catalogue: Catalogue) -> None:
    assert {clause: catalogue.clauses[clause].reference for clause in REFERENCE_CHOICES} == REFERENCE_CHOICES


def test_statements_are_whole_sentences_without_placeholders(catalogue: Catalogue) -> None:
    texts = [
        text
        for clause in catalogue.clauses.values()
        for text in (clause.statement, clause.argument)
        if text is not None
    ]
    for text in texts:
        assert text[-1] in ".)", text
        assert text[0].isupper() or text[0] == "`", text
        assert text.count("`") % 2 == 0, text
        assert "%{" not in text
        assert "  " not in text
        assert "\n" not in text
    assert len(set(texts)) == len(texts)


def test_clauses_that_are_named_in_a_statement_exist(catalogue: Catalogue) -> None:
    for clause in catalogue.clauses.values():
        named = re.findall(r"\b[A-Z]{2,3}-\d+[a-z]?\b", f"{clause.statement} {clause.argument}")
        assert set(named) - {"UTF-8"} <= set(catalogue.clauses), clause.id


def test_limits_are_filled_in_as_figures(catalogue: Catalogue) -> None:
    assert "31,536,000 seconds" in catalogue.clauses["LIF-1"].statement
    assert "at most 1,048,576." in catalogue.clauses["DOC-2"].statement
    assert "1 to 256 Unicode" in catalogue.clauses["BND-2"].statement


def test_every_limit_belongs_to_a_clause_that_states_it(catalogue: Catalogue) -> None:
    unstated = {"deployment_weight", "attempts_default", "wait_seconds_minimum", "delay_seconds_default"}
    for name, limit in TABLE.items():
        statement = catalogue.clauses[limit.clause].statement
        assert name in unstated or f"{limit.value:,}" in statement, name


def test_a_clause_points_at_sentences_of_the_right_document(catalogue: Catalogue) -> None:
    for clause in catalogue.clauses.values():
        sources = {sentence.source for sentence in clause.source}
        assert sources <= ({"guarantees", "boundary"} if clause.chapter == "GRT" else {"form"}), clause.id
        assert len({sentence.pointer for sentence in clause.source}) == len(clause.source) > 0, clause.id


def test_every_sentence_of_a_source_has_a_clause_or_a_reason_why_not(catalogue: Catalogue) -> None:
    pointed = {sentence.pointer for clause in catalogue.clauses.values() for sentence in clause.source}
    for source in catalogue.sources.values():
        for place, _ in source.places():
            assert (f"{source.key}/{place}" in pointed) != (place in source.aside), f"{source.key}/{place}"
        assert set(source.aside) <= {place for place, _ in source.places()}


def test_digests_are_well_formed(catalogue: Catalogue) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", catalogue.digest)
    assert catalogue.version == "0.3.0"
    for source in catalogue.sources.values():
        assert re.fullmatch(r"[0-9a-f]{64}", source.sha256)
        for _, digest in source.places():
            assert re.fullmatch(r"[0-9a-f]{16}", digest)


def test_the_data_holds_no_text_of_the_sources() -> None:
    folder = resources.files("fencepost_spec")
    files = [folder.joinpath("sources.toml"), *folder.joinpath("clauses").iterdir()]
    for file in files:
        foreign = set(re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]", file.read_text("utf-8")))
        assert foreign == set(), file.name


def test_an_unknown_id_is_answered_with_those_near_it(catalogue: Catalogue) -> None:
    with pytest.raises(KeyError, match="near it: WFE-5"):
        catalogue.clause("wfe-5")
    assert catalogue.clause("WFE-5").id == "WFE-5"


def test_an_unknown_choice_is_answered_with_the_admissible_ones(catalogue: Catalogue) -> None:
    assert catalogue.clause("SLP-6").choice("parked").meaning
    with pytest.raises(KeyError, match="its choices: woken, parked"):
        catalogue.clause("SLP-6").choice("late")


@pytest.mark.parametrize("wrong", ["WFE", "WFE-", "wfe-5", "WFE-5ab", "WFE-5\n", "5"])
def test_what_is_no_clause_id_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="is no clause id"):
        split_id(wrong)


SOUND: dict[str, Any] = {
    "id": "SLP-1",
    "strength": "required",
    "statement": "It holds.",
    "source": ["form/runtime:32"],
}
CHOICES = [{"name": "a", "meaning": "A"}, {"name": "b", "meaning": "B"}]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"colour": "red"}, "SLP-1: unknown key 'colour'"),
        ({"id": "WFE-1"}, "WFE-1: stands in chapter SLP"),
        ({"strength": "advised"}, "SLP-1: strength 'advised' is none of"),
        ({"strength": "derived"}, "SLP-1: a derived clause, and no other, has an argument"),
        ({"argument": "So."}, "SLP-1: a derived clause, and no other, has an argument"),
        ({"strength": "open"}, "SLP-1: an open clause, and no other, has two choices"),
        (
            {"strength": "open", "choices": CHOICES},
            "SLP-1: the reference's choice is named, and stands first",
        ),
        (
            {"strength": "open", "choices": CHOICES, "reference": "b"},
            "SLP-1: the reference's choice is named",
        ),
        ({"strength": "open", "choices": [CHOICES[0]] * 2, "reference": "a"}, "SLP-1: two of its choices"),
        ({"source": []}, "SLP-1: it points at no sentence"),
        ({"source": ["form/runtime:55"]}, "SLP-1: 'form/runtime:55' points at no sentence"),
        ({"source": ["form/nowhere:1"]}, "SLP-1: 'form/nowhere:1' points at no sentence"),
        ({"source": ["form/runtime:0"]}, "SLP-1: 'form/runtime:0' points at no sentence"),
        ({"statement": "At most %{moons}."}, "SLP-1: there is no limit 'moons'"),
    ],
)
def test_faulty_data_is_refused_with_the_clause_and_the_fault(
    catalogue: Catalogue, change: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)):
        module._clause("SLP", {**SOUND, **change}, catalogue.sources)
    assert module._clause("SLP", SOUND, catalogue.sources).statement == "It holds."
