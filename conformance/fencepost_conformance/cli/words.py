"""What the Form's words mean, in one line each; the clauses that name a word say the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Word(NamedTuple):
    """A word of the Form: what kind of thing it is, and what it says."""

    kind: str
    meaning: str


_STATUSES = {
    "queued": "created or woken, and no context runs yet",
    "running": "a context runs it",
    "sleeping": "parked until an instant",
    "waiting": "parked until an event or a timeout",
    "complete": "its run returned; an output is shown if there is one",
    "errored": "it ended for one of the five reasons",
    "terminated": "a caller ended it, and its code is proven stopped",
}
_REASONS = {
    "run_threw": "something left `run` uncaught that was no genuine step failure",
    "step_failed": "the last attempt of a step failed; an Error in the workflow, a reason if uncaught",
    "step_limit_exceeded": "a step too many was begun, and no code can catch that",
    "lifetime_exceeded": "the instance outlived its lifetime, and no code can catch that",
    "step_definition_mismatch": "steps overlapped, one was left unsettled, or a name changed its kind",
}
_REJECTIONS = {
    "instance_exists": "`create` with an id that is still held",
    "unknown_instance": "no instance is held under the id",
    "instance_terminal": "an event for an instance that has ended",
    "event_queue_full": "the inbox has no room, and nothing was accepted",
    "invalid_params": "the params of `create` are no document",
    "document_too_large": "a document of a caller's call is over the byte limit",
    "backend_unavailable": "the store behind the caller's calls cannot be reached",
}
_REFUSALS = {
    "dependency_conflict": "a management call that something else, which is known, stands against",
    "resource_busy": "a management call that cannot be decided at present; the same one may succeed later",
}

WORDS: Mapping[str, Word] = {
    **{word: Word("a status of an instance", meaning) for word, meaning in _STATUSES.items()},
    **{word: Word("a reason of errored", meaning) for word, meaning in _REASONS.items()},
    **{word: Word("an error of a caller's call", meaning) for word, meaning in _REJECTIONS.items()},
    **{word: Word("a code of the management API", meaning) for word, meaning in _REFUSALS.items()},
    "wait_timeout": Word(
        "an Error in the workflow", "no event came before the deadline of a wait had passed"
    ),
    "TypeError": Word("an Error in the workflow", "an argument of an unfinished step is bad"),
}
