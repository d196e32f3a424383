"""The open points of the machine are those of the catalogue, word for word, and each is read by the code."""

from __future__ import annotations

import ast
from dataclasses import Field, fields
from functools import cache
from pathlib import Path
from typing import Any

import fencepost
import pytest
from fencepost.machine import REFERENCE, Latitude
from fencepost_spec import catalogue

PACKAGE = Path(fencepost.__file__).parent
CLAUSES = catalogue.load().clauses
FIELDS = {each.name: each for each in fields(Latitude)}

WITHOUT_A_FIELD = {
    "ABI-5a": "Python hands out one attribute, which reads None either way",
    "BND-10a": "a Host that adds keys adds them to its own answer; the machine's has none to add",
    "BND-11": "Python's create has keywords, and no input object that could be missing",
    "BND-11a": "Python has one None for a missing and for an undefined id",
    "BND-11b": "Python's None inside a policy is null, and so a bad argument",
    "BND-14": "Python itself refuses keywords and arguments that a function does not have",
    "BND-14a": "a handle's calls reach the machine by id, where one that is not held is unknown",
    "BND-14b": "a handle's calls reach the machine by id, where one that is not held is unknown",
    "DEL-3a": "the machine closes, fences and cancels in one transition",
    "DOC-11b": "JavaScript's: Python has no hidden own properties and no proxies, and subclasses are refused",
    "DOC-12b": "it is the order in which the encoder walks through a document",
    "RES-8a": "it is the management machine's answer to a changed spec",
}


@cache
def code() -> list[tuple[str, ast.AST]]:
    """Every node of the package, with its place."""
    return [
        (f"{path.relative_to(PACKAGE)}:{getattr(node, 'lineno', 0)}", node)
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute | ast.Compare)
    ]


def field_read(node: ast.AST) -> str | None:
    """The field that an expression such as `rules.latitude.FIELD` reads."""
    if not isinstance(node, ast.Attribute) or node.attr not in FIELDS:
        return None
    owner = node.value
    name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return node.attr if name in ("latitude", "_latitude") else None


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_a_field_is_an_open_clause_with_its_choices(field: Field[Any]) -> None:
    clause = CLAUSES[field.metadata["clause"]]
    assert clause.strength == "open"
    assert field.metadata["choices"] == tuple(choice.name for choice in clause.choices)
    assert field.default == clause.reference == getattr(REFERENCE, field.name)


def test_every_open_clause_has_one_field_or_a_reason() -> None:
    named = [field.metadata["clause"] for field in FIELDS.values()]
    assert len(named) == len(set(named))
    assert set(named).isdisjoint(WITHOUT_A_FIELD)
    opened = {clause.id for clause in CLAUSES.values() if clause.strength == "open"}
    assert opened - set(named) == set(WITHOUT_A_FIELD)


def test_a_choice_must_be_admissible() -> None:
    with pytest.raises(ValueError, match=r"^clock must be one of finer, whole-seconds$"):
        Latitude(clock="seconds")


def test_the_code_compares_with_choices_only() -> None:
    """A word that is no choice would compare as unequal for ever, and silently."""
    for where, node in code():
        if isinstance(node, ast.Compare) and (name := field_read(node.left)):
            for word in node.comparators:
                assert isinstance(word, ast.Constant), where
                assert word.value in FIELDS[name].metadata["choices"], where


def test_every_field_is_read() -> None:
    assert {name for _, node in code() if (name := field_read(node))} == set(FIELDS)
