"""What a history must tell: how the answer of the instrument `history` is held against an expectation.

| word | holds when |
|---|---|
| `records`, `inbox`, `steps`, `perhapsRepeated`, `committedTwice` | these are all lines, in this order |
| `deliveries` | these are among the lines, in this order |
| `attempts` | a step has so many attempts, and each execution and each attempt has one id of its own |
| `leases` | every lease ends at an instant, no expiry comes before that, and who gets work has a lease |
| `delivered` | an attempt, given as STEP/NUMBER, was delivered so often |
| `since` | it is the same run as in an earlier history: ids, records, deliveries and deadlines are still so |
| `apart` | it is another run than in that history, and shares no id with it |

A line is given by some of its keys; null stands for a key that is not there.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .adapter import Answer
from .expectations import Variables, same, succeeded, within

Line = Mapping[str, Any]
History = Mapping[str, Any]
Check = Callable[[Any, History, Variables], str | None]


def mismatch(form: Mapping[str, Any], answer: Answer, variables: Variables) -> str | None:
    """What speaks against one form of an expectation, or None when it holds."""
    rejected = succeeded(answer)
    if rejected is not None:
        return rejected
    for word, check in _CHECKS.items():
        reason = check(form[word], answer.value, variables) if word in form else None
        if reason is not None:
            return f"{word}: {reason}"
    return None


def _fits(pattern: Line, line: Line) -> bool:
    return all(same(value, line.get(key)) for key, value in pattern.items())


def _whole(word: str) -> Check:
    def check(patterns: Sequence[Line], seen: History, variables: Variables) -> str | None:
        lines = seen[word]
        for number, (pattern, line) in enumerate(zip(patterns, lines, strict=False), 1):
            if not _fits(pattern, line):
                return f"line {number} is another one"
        if len(lines) != len(patterns):
            return f"{len(lines)} lines, {len(patterns)} expected"
        return None

    return check


def _among(patterns: Sequence[Line], seen: History, variables: Variables) -> str | None:
    lines = iter(seen["deliveries"])
    for number, pattern in enumerate(patterns, 1):
        if not any(_fits(pattern, line) for line in lines):
            return f"line {number} is not there, or not after the one before"
    return None


def _named(seen: History) -> Iterator[tuple[tuple[str, int], str]]:
    """What has an id, step and attempt (0 for the execution), and the id; one after the other."""
    for line in (*seen["steps"], *seen["records"], *seen["deliveries"]):
        if "step" in line:
            yield (line["step"], 0), line.get("execution", "")
            if "number" in line:
                yield (line["step"], line["number"]), line.get("attempt", "")


def _attempts(expected: Mapping[str, Any], seen: History, variables: Variables) -> str | None:
    ids: dict[tuple[str, int], str] = {}
    for named, id in _named(seen):
        if not id or ids.setdefault(named, id) != id:
            return f"{_told(named)} has no id, or more than one"
    if len(set(ids.values())) != len(ids):
        return "two executions or attempts share an id"
    counted = Counter(step for step, number in ids if number)
    return _counts(expected, counted)


def _delivered(expected: Mapping[str, Any], seen: History, variables: Variables) -> str | None:
    lines = (line for line in seen["deliveries"] if line["delivery"] == "attempt")
    return _counts(expected, Counter(f"{line.get('step')}/{line.get('number')}" for line in lines))


def _leases(_: bool, seen: History, variables: Variables) -> str | None:
    until: dict[int, int] = {}
    for line in seen["deliveries"]:
        owner = line["owner"]
        if line["delivery"] == "lease":
            if line.get("until", line["at"]) <= line["at"]:
                return f"the lease of owner {owner} names no instant at which it ends"
            until[owner] = line["until"]
        elif owner not in until:
            return f"owner {owner} has no lease"
        elif line["delivery"] == "expiry" and line["at"] < until[owner]:
            return f"the lease of owner {owner} has ended before its time"
    return None


def _counts(expected: Mapping[str, Any], counted: Mapping[str, int]) -> str | None:
    for name, count in expected.items():
        if not within(count, counted.get(name, 0)):
            return f"{counted.get(name, 0)} of {name}"
    return None


def _since(name: str, seen: History, variables: Variables) -> str | None:
    before: History | None = variables[name]
    if before is None:
        return "there was no history before"
    for key in ("resource", "instance", "run"):
        if before[key] != seen[key]:
            return f"the {key} has another id"
    ids = dict(_named(seen))
    for named, id in _named(before):
        if ids.get(named, id) != id:
            return f"{_told(named)} has another id"
    for key in ("records", "deliveries", "commands"):
        if not same(before[key], seen[key][: len(before[key])]):
            return f"{key} that were there are gone, or are others"
    return _moved(before, seen)


def _moved(before: History, seen: History) -> str | None:
    """What was finished stays so, and what is pending keeps its deadline."""
    now = {step["step"]: step for step in seen["steps"]}
    for was in before["steps"]:
        step = now.get(was["step"])
        if step is None or (was["finished"] and not step["finished"]):
            return f"step {was['step']} is no longer there, or no longer finished"
        if not step["finished"] and "deadline" in was and step.get("deadline", 0) > was["deadline"]:
            return f"step {was['step']} has a later deadline"
    return None


def _apart(name: str, seen: History, variables: Variables) -> str | None:
    before: History | None = variables[name]
    if before is None:
        return "there was no history before"
    shared = {before["run"], *dict(_named(before)).values()} & {seen["run"], *dict(_named(seen)).values()}
    return f"both runs have the id {min(shared)}" if shared else None


def _told(named: tuple[str, int]) -> str:
    step, number = named
    return f"attempt {number} of {step}" if number else f"the execution of {step}"


_CHECKS: Mapping[str, Check] = {
    **{word: _whole(word) for word in ("records", "inbox", "steps", "perhapsRepeated", "committedTwice")},
    "deliveries": _among,
    "leases": _leases,
    "attempts": _attempts,
    "delivered": _delivered,
    "since": _since,
    "apart": _apart,
}
