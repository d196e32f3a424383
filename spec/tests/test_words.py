"""The words that a Host answers with, against the clauses and schemas that name them."""

from __future__ import annotations

from fencepost_spec.catalogue import load as load_catalogue
from fencepost_spec.schemas import schema
from fencepost_spec.words import KINDS, load, of_kind

STATUSES = ("queued", "running", "sleeping", "waiting", "complete", "errored", "terminated")
REASONS = ("run_threw", "step_failed", "step_limit_exceeded", "lifetime_exceeded", "step_definition_mismatch")
CALLER_ERRORS = {
    "instance_exists",
    "unknown_instance",
    "invalid_params",
    "document_too_large",
    "instance_terminal",
    "event_queue_full",
    "backend_unavailable",
}


def test_the_words_are_those_of_the_form() -> None:
    assert of_kind("status") == STATUSES
    assert set(of_kind("failure-reason")) == set(REASONS)
    assert set(of_kind("caller-error")) == CALLER_ERRORS
    assert set(of_kind("step-error")) == {"step_failed", "wait_timeout", "TypeError"}
    assert {word.kind for meanings in load().values() for word in meanings} == set(KINDS)


def test_a_word_can_be_two_things() -> None:
    assert [word.kind for word in load()["step_failed"]] == ["failure-reason", "step-error"]


def test_every_word_has_a_meaning_and_clauses_that_exist() -> None:
    clauses = load_catalogue().clauses
    for name, meanings in load().items():
        for word in meanings:
            assert word.name == name
            assert word.meaning
            assert word.kind_meaning
            assert [clause for clause in word.clauses if clause not in clauses] == []
            assert len(word.clauses) > 0


def test_every_word_is_quoted_by_one_of_its_clauses() -> None:
    """A choice counts like a statement: only a choice names ``invalid_spec``."""
    clauses = load_catalogue().clauses
    for meanings in load().values():
        for word in meanings:
            named = [clauses[clause] for clause in word.clauses]
            texts = [clause.statement for clause in named]
            texts += [choice.meaning for clause in named for choice in clause.choices]
            assert any(word.name in text for text in texts), word.name


def test_the_schemas_list_the_same_words() -> None:
    answer = schema("status-answer")
    assert tuple(answer["$defs"]["status"]["enum"]) == STATUSES
    assert tuple(answer["$defs"]["failure"]["enum"]) == REASONS
    counts = schema("observed")["properties"]["instanceCounts"]
    assert tuple(counts["properties"]) == tuple(counts["required"]) == STATUSES


def test_management_codes_have_their_status() -> None:
    statuses = {word.name: word.status for meanings in load().values() for word in meanings if word.status}
    assert statuses == {"dependency_conflict": 409, "resource_busy": 409, "invalid_spec": 422}
