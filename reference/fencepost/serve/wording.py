"""Actions and replies of the machine in the words that the page shows: one table for each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

from fencepost.machine import actions, replies
from fencepost.machine.actions import Action, Document, Unfit
from fencepost.machine.replies import Reply
from fencepost.machine.state import Failed, Outcome, Succeeded

Who = Literal["caller", "owner", "host"]

SHOWN = 160
"""Characters of a document that are shown in a line."""


def cut(text: str, most: int = SHOWN) -> str:
    """A text that is not longer than that, with a mark where it goes on."""
    return text if len(text) <= most else text[:most] + "…"


def document(data: Document, most: int = SHOWN) -> str:
    """A document as JSON text, cut where it is long; empty when there is none."""
    if data is None:
        return ""
    if isinstance(data, Unfit):
        return f"(no document: {data.value})"
    text = data[: 4 * most + 4].decode("utf-8", "ignore")  # a character has at most four bytes
    return text if len(text) <= most else f"{text[:most]}… ({len(data):,} bytes)"


def quoted(value: Any) -> str:
    """What may be a name, an id or a type, as a short JSON text."""
    return cut(json.dumps(value, ensure_ascii=False) if isinstance(value, str) else type(value).__name__, 80)


def outcome(recorded: Outcome) -> str:
    """A recorded outcome in a few words."""
    if isinstance(recorded, Failed):
        return recorded.name
    return document(recorded.document) or "undefined"


def _create(action: actions.Create) -> str:
    return f"create {document(action.params)}".rstrip()


def _send_event(action: actions.SendEvent) -> str:
    return f"sendEvent {quoted(action.type)} {document(action.payload)}".rstrip()


def _begin_step(action: actions.BeginStep) -> str:
    given = action.arguments
    about = {
        "do": "",
        "sleep": f" for {quoted_number(given.get('seconds'))} s",
        "wait": f" for {quoted(given.get('type'))}, at most {quoted_number(given.get('timeoutSeconds'))} s",
    }
    return f"{action.kind} {quoted(action.name)}{about[action.kind]}"


def quoted_number(value: Any) -> str:
    """A number of seconds, or what was given instead of one."""
    return str(value) if isinstance(value, int | float) else quoted(value)


def _commit(action: actions.CommitAttempt) -> str:
    return "the effect threw" if action.failed else f"the effect returned {document(action.result)}".rstrip()


def _settle(action: actions.Settle) -> str:
    if action.threw:
        return f"run threw {action.provenance or 'an error'}"
    return f"run returned {document(action.result) or 'undefined'}"


_Sentence = Callable[[Any], str]

_ACTIONS: Mapping[type[Action], tuple[Who, _Sentence]] = {
    actions.Create: ("caller", _create),
    actions.SendEvent: ("caller", _send_event),
    actions.Terminate: ("caller", lambda _: "terminate"),
    actions.Claim: ("host", lambda action: f"context {action.token} starts"),
    actions.BeginStep: ("owner", _begin_step),
    actions.Park: ("owner", lambda _: "park"),
    actions.CommitAttempt: ("owner", _commit),
    actions.Settle: ("owner", _settle),
    actions.StopAck: ("host", lambda action: f"context {action.token} is stopped and reaped"),
    actions.Crash: ("host", lambda action: f"context {action.token} died"),
    actions.Expire: ("host", lambda _: "the owner's lease has run out"),
    actions.Wake: ("host", lambda _: "the deadline has passed"),
    actions.EndLifetime: ("host", lambda _: "the lifetime has passed"),
    actions.Close: ("host", lambda _: "the resource is being deleted"),
    actions.Purge: ("host", lambda _: "forgotten"),
}

_REPLIES: Mapping[type[Reply], _Sentence] = {
    replies.Done: lambda _: "",
    replies.Unproven: lambda _: "the code is not stopped yet",
    replies.Accepted: lambda reply: "handed over" if reply.handed_over else f"kept as number {reply.number}",
    replies.Rejected: lambda reply: f"{reply.name}: {reply.message}",
    replies.Run: lambda reply: f"run the effect, attempt {reply.attempt}",
    replies.Pending: lambda _: "recorded as pending",
    replies.Recorded: lambda reply: f"on record: {outcome(reply.outcome)}",
    replies.Replaying: lambda reply: f"on record: {outcome(reply.outcome)}",
    replies.BadArgument: lambda reply: f"TypeError: {reply.message}",
    replies.UnfitResult: lambda reply: f"TypeError: {reply.message}",
    replies.Parked: lambda _: "parked: fenced, to be stopped",
    replies.Stopped: lambda reply: f"fenced, to be stopped{f': {reply.reason}' if reply.reason else ''}",
    replies.Fenced: lambda _: "fenced: nothing is committed",
    replies.Impossible: lambda reply: reply.why,
}


def said(action: Action) -> tuple[Who, str]:
    """Who acted, and what was done."""
    who, sentence = _ACTIONS.get(type(action), ("host", lambda _: type(action).__name__))
    return who, sentence(action)


def answered(reply: Reply) -> str:
    """What it came to; empty when it simply happened."""
    sentence = _REPLIES.get(type(reply), lambda _: type(reply).__name__)
    return cut(sentence(reply), 2 * SHOWN)


def recorded(step: Outcome | None, most: int = SHOWN) -> tuple[str, str]:
    """A step's outcome as a word and a document: pending, succeeded, or the name of the failure."""
    if step is None:
        return "pending", ""
    if isinstance(step, Succeeded):
        return "succeeded", document(step.document, most)
    return step.name, ""
