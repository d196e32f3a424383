"""Takes pieces out of a scenario as long as it still fails in the same way.

Hypothesis shrinks what was drawn; this works on the document, and so needs no knowledge of how it came
about. Each attempt is a replay, so the number of attempts is bounded. Pieces are entries of the schedule,
operations of programs at any depth, and members of an operation or entry that may be missing. The entries
that delete a resource and create it again belong together.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Document = dict[str, Any]
Fails = Callable[[Document], bool]

ATTEMPTS = 400
TOGETHER = ("unbind", "deleteResource", "recreateResource")
BODIES = ("try", "handler", "finally", "ops", "then", "else", "together", "race")
OMISSIBLE = ("retry", "catch", "handler", "finally", "else", "as", "payload", "params", "times")
_KEPT = ("start", "pending", "await")  # their `as` is what others name


def reduce(document: Document, fails: Fails, seconds: float, attempts: int = ATTEMPTS) -> Document:
    """A smaller scenario that still fails; `seconds` of real time at most."""
    deadline, left = time.monotonic() + seconds, attempts
    best, changed = document, True
    while changed:
        changed = False
        for candidate in _candidates(best):
            if left <= 0 or time.monotonic() > deadline:
                return best
            left -= 1
            if fails(candidate):
                best, changed = candidate, True
                break
    return best


def size(document: Document) -> int:
    """How much there is to read, in characters."""
    return len(repr((document.get("programs"), document["schedule"], document.get("versions"))))


def _candidates(document: Document) -> Iterator[Document]:
    """Every scenario that is a piece smaller, the largest pieces first."""
    yield from _without_entries(document)
    yield from _without_versions(document)
    yield from _smaller_programs(document)
    yield from _plainer_entries(document)


def _without_entries(document: Document) -> Iterator[Document]:
    schedule = document["schedule"]
    groups = _groups(schedule)
    length = len(groups)
    span = max(length // 2, 1)
    while True:
        for end in range(length, 0, -span):
            dropped = {index for group in groups[max(end - span, 0) : end] for index in group}
            kept = [entry for index, entry in enumerate(schedule) if index not in dropped]
            if kept:
                yield _pruned({**document, "schedule": kept})
        if span == 1:
            return
        span //= 2


def _groups(schedule: list[Mapping[str, Any]]) -> list[list[int]]:
    """Indexes of entries that stay or go together."""
    groups: list[list[int]] = []
    inside = False
    for index, entry in enumerate(schedule):
        if inside:
            groups[-1].append(index)
        else:
            groups.append([index])
        inside = (inside or TOGETHER[0] in entry) and TOGETHER[-1] not in entry
    return groups


def _pruned(document: Document) -> Document:
    """Without the programs that no entry creates."""
    used = {each["program"] for entry in document["schedule"] for each in _creates(entry)}
    held = list(document.get("versions", {}).values())
    used |= {newer for names in held for name, newer in names.items() if name in used}
    programs = {name: program for name, program in document["programs"].items() if name in used}
    pruned = {**document, "programs": programs}
    if "versions" in document:
        pruned["versions"] = {
            version: {name: newer for name, newer in names.items() if name in used}
            for version, names in document["versions"].items()
        }
    return pruned


def _creates(entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for word in ("start", "dropResponse"):
        if isinstance(entry.get(word), Mapping):
            yield from _creates(entry[word])
    if "create" in entry and "program" in entry:
        yield entry


def _without_versions(document: Document) -> Iterator[Document]:
    if "versions" in document and not any("deploy" in entry for entry in document["schedule"]):
        yield _pruned({key: value for key, value in document.items() if key not in ("versions", "deployed")})


def _smaller_programs(document: Document) -> Iterator[Document]:
    for name, program in document["programs"].items():
        for smaller in _smaller_block(list(program)):
            yield {**document, "programs": {**document["programs"], name: smaller}}


def _smaller_block(block: list[Any]) -> Iterator[list[Any]]:
    for index in range(len(block) - 1, -1, -1):
        yield block[:index] + block[index + 1 :]
    for index, operation in enumerate(block):
        for replaced in _smaller_operation(operation):
            yield block[:index] + replaced + block[index + 1 :]


def _smaller_operation(operation: Mapping[str, Any]) -> Iterator[list[Any]]:
    """What may stand in place of one operation: its body, itself with less, itself with a smaller body."""
    for key in BODIES:
        if isinstance(operation.get(key), list):
            yield list(operation[key])
    if "unawaited" in operation:
        yield [operation["unawaited"]]
    for key in OMISSIBLE:
        if key in operation:
            yield [{each: value for each, value in operation.items() if each != key}]
    effect = operation.get("effect")
    if isinstance(effect, Mapping) and effect != {"value": {}}:
        simpler: list[Any] = [{"value": {}}, *([effect["then"]] if "then" in effect else [])]
        for each in simpler:
            yield [{**operation, "effect": each}]
    for key in BODIES:
        if isinstance(operation.get(key), list):
            for smaller in _smaller_block(operation[key]):
                yield [{**operation, key: smaller}]


def _plainer_entries(document: Document) -> Iterator[Document]:
    for index, entry in enumerate(document["schedule"]):
        for key in OMISSIBLE:
            if key in entry and not any(word in entry for word in _KEPT):
                changed = copy.copy(document["schedule"])
                changed[index] = {each: value for each, value in entry.items() if each != key}
                yield {**document, "schedule": changed}
