"""What TLC says with `-tool`, read into one typed result.

A message lies between `@!@!@STARTMSG code:severity @!@!@` and `@!@!@ENDMSG code @!@!@`; what lies outside
comes from the parser of modules. A run counts as passed only when TLC says that it finished without an
error: the exit status alone is not trusted, since the parser leaves 0 behind some errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from fencepost_model.values import State, state

Outcome = Literal["passed", "violated", "failed"]


@dataclass(frozen=True)
class Message:
    code: int
    severity: int
    text: str


@dataclass(frozen=True)
class Progress:
    """How far a run is: states generated and distinct, and the states on the queue."""

    generated: int
    distinct: int
    queue: int
    depth: int = 0


@dataclass(frozen=True)
class Entry:
    """One state of a counterexample, and the action that led to it (`Init` for the first)."""

    action: str
    state: State


@dataclass(frozen=True)
class Run:
    """What came of one run of TLC.

    `violated` names the property that broke, where TLC names it; `loop` is the place in `trace` that the last
    state goes back to, and `stutters` says that nothing happens after it. `problem` is TLC's own words for a
    run that failed.
    """

    outcome: Outcome
    violated: str | None = None
    trace: tuple[Entry, ...] = ()
    loop: int | None = None
    stutters: bool = False
    generated: int = 0
    distinct: int = 0
    initial: int = 0
    depth: int = 0
    problem: str = ""
    seconds: float = 0.0
    version: str = field(default="", compare=False)


_START = re.compile(r"@!@!@STARTMSG (\d+):(\d+) @!@!@")
_END = re.compile(r"@!@!@ENDMSG \d+ @!@!@")
_COUNTS = re.compile(r"([\d,]+) states generated.*?, ([\d,]+) distinct states found.*?, ([\d,]+) states left")
_ENTRY = re.compile(r"\d+: <?(Initial predicate|Stuttering|\w+)")

_VIOLATIONS = {2107: "Invariant", 2110: "Invariant", 2112: "Action property", 2116: None, 2108: "Property"}
_STATE, _STUTTERING, _BACK = 2217, 2218, 2122
_FINISHED, _STATS, _PROGRESS, _DEPTH, _INITIAL, _VERSION = 2193, 2199, 2200, 2194, 2190, 2262
_ERROR = 1


def messages(lines: Iterable[str]) -> Iterator[Message]:
    """The messages of a run in order; text outside of messages comes as code 0."""
    code = severity = 0
    text: list[str] = []
    for line in lines:
        line = line.rstrip("\r\n")
        start = _START.search(line)
        if start or _END.search(line):
            if text or code:
                yield Message(code, severity, "\n".join(text))
            code, severity = (int(start[1]), int(start[2])) if start else (0, 0)
            text = []
        else:
            text.append(line)
    if text:
        yield Message(code, severity, "\n".join(text))


def read(found: Iterable[Message], progress: Callable[[Progress], None] | None = None) -> Run:
    """The result that the messages of a whole run add up to; `progress` hears of each count on the way."""
    run = Run("failed")
    finished, broken = False, False
    problems: list[str] = []
    for message in found:
        if message.code in _VIOLATIONS:
            broken = True
            named = re.search(r"(?:Invariant|[Pp]roperty) (\w+) (?:is|line)", message.text)
            run = replace(run, violated=run.violated or (named[1] if named else None))
        elif message.code == _STATE:
            run = _with_state(run, message.text)
        elif message.code == _STUTTERING:
            run = replace(run, stutters=True)
        elif message.code == _BACK:
            back = re.match(r"\s*(?:Back to state )?(\d+)", message.text)
            run = replace(run, loop=int(back[1]) - 1 if back else 0)
        elif message.code in (_STATS, _PROGRESS):
            run = _with_counts(run, message, progress)
        elif message.code == _DEPTH:
            run = replace(run, depth=int(re.sub(r"\D", "", message.text.partition("is")[2]) or 0))
        elif message.code == _INITIAL:
            run = replace(
                run, initial=int((re.search(r"([\d,]+) distinct", message.text) or "0 0")[1].replace(",", ""))
            )
        elif message.code == _VERSION:
            run = replace(run, version=message.text.strip())
        elif message.code == _FINISHED:
            finished = True
        elif message.severity == _ERROR or (
            message.code == 0 and re.search(r"\*\*\* |[Ee]rror", message.text)
        ):
            problems.append(message.text.strip())
    if broken:
        return replace(run, outcome="violated")
    if finished and not problems:
        return replace(run, outcome="passed")
    return replace(run, problem=" ".join(problems) or "TLC ended without a result")


def _with_counts(run: Run, message: Message, progress: Callable[[Progress], None] | None) -> Run:
    match = _COUNTS.search(message.text)
    if match is None:
        return run
    generated, distinct, queue = (int(each.replace(",", "")) for each in match.groups())
    if progress is not None:
        depth = re.search(r"Progress\((\d+)\)", message.text)
        progress(Progress(generated, distinct, queue, int(depth[1]) if depth else run.depth))
    return replace(run, generated=generated, distinct=distinct)


def _with_state(run: Run, text: str) -> Run:
    head, _, body = text.partition("\n")
    action = _ENTRY.match(head)
    if action is None or not body.strip():
        return run
    name = "Init" if action[1] == "Initial predicate" else action[1]
    return replace(run, trace=(*run.trace, Entry(name, state(body))))
