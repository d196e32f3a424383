"""Takes pieces out of a scenario, and makes others plainer, as long as it still fails in the same way.

It works on the document, and so needs no knowledge of how that came about. Each attempt is a replay, so
their number is bounded. Pieces are entries of the schedule, operations of programs at any depth, members of
an operation or entry that may be missing, and figures that could be smaller. The entries that delete a
resource and create it again belong together.

All that could be done to a scenario is a list, the largest pieces first. It is gone through in a circle:
what has just been tried in vain is not tried again before something else has succeeded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Document = dict[str, Any]
Fails = Callable[[Document], bool]

ATTEMPTS = 1500
TOGETHER = ("unbind", "deleteResource", "recreateResource")
BODIES = ("try", "handler", "finally", "ops", "then", "else", "together", "race")
OMISSIBLE = ("retry", "catch", "handler", "finally", "else", "as", "payload", "params", "times")
PLAINER: Mapping[str, tuple[Any, ...]] = {
    "seconds": (1, 60),
    "timeoutSeconds": (60,),
    "effect": ({"value": {}}, {"throw": "x"}),
    "retry": tuple(
        {"maxAttempts": 2, **({"initialDelaySeconds": each} if each else {})} for each in (0, 1, 60)
    ),
    "repeat": (2,),
    "type": ("go",),
    "advance": (1, 61),
    "at": ("now",),
}
"""Member of an operation or of an entry -> the values to try in its place, the plainest first."""

IDS = ("i", "j", "k")
ON_AN_ID = frozenset(
    ("create", "get", "status", "sendEvent", "terminate", "kill", "pause", "resume", "stuck", "unstuck")
)
LONG, SHORT = 40, 3  # characters
_PLAINEST = frozenset({"settle", "advance"})
_KEPT = ("start", "pending", "await")  # their `as` is what others name


def reduce(document: Document, fails: Fails, seconds: float, attempts: int = ATTEMPTS) -> Document:
    """A smaller scenario that still fails; `seconds` of real time at most."""
    deadline = time.monotonic() + seconds
    best, candidates, place, vain = document, list(_candidates(document)), 0, 0
    for _ in range(attempts):
        if vain >= len(candidates) or time.monotonic() > deadline:
            break
        candidate = candidates[place % len(candidates)]
        if fails(candidate):
            best, candidates, vain = candidate, list(_candidates(candidate)), 0
        else:
            place, vain = place % len(candidates) + 1, vain + 1
    return best


def size(document: Document) -> int:
    """How much there is to read, in characters."""
    return len(repr((document.get("programs"), document["schedule"], document.get("versions"))))


def _candidates(document: Document) -> Iterator[Document]:
    """Every scenario that is a piece smaller or plainer, the largest pieces first."""
    yield from _without_entries(document)
    yield from _without_versions(document)
    yield from _on_one_version(document)
    for name, program in document["programs"].items():
        for smaller in _smaller_block(list(program)):
            yield {**document, "programs": {**document["programs"], name: smaller}}
    yield from _plainer_entries(document)
    yield from _shorter_names(document)
    yield from _plainer_ids(document)


# Entries


def _without_entries(document: Document) -> Iterator[Document]:
    schedule = document["schedule"]
    groups = _groups(schedule)
    for kept in _without_spans(groups):
        if kept:
            yield _pruned({**document, "schedule": [schedule[index] for group in kept for index in group]})


def _groups(schedule: Sequence[Mapping[str, Any]]) -> list[list[int]]:
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


def _without_spans(pieces: Sequence[Any]) -> Iterator[list[Any]]:
    """The pieces without a half, a quarter, ... and each one of them, from the end to the beginning."""
    length = len(pieces)
    span = max(length // 2, 1)
    while length:
        for end in range(length, 0, -span):
            yield [*pieces[: max(end - span, 0)], *pieces[end:]]
        if span == 1:
            return
        span //= 2


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


def _on_one_version(document: Document) -> Iterator[Document]:
    """As if the second Version were the only one."""
    for newer in list(document.get("versions", {}).values())[1:]:
        programs = {name: document["programs"][newer.get(name, name)] for name in document["programs"]}
        schedule = [entry for entry in document["schedule"] if "deploy" not in entry]
        if schedule:
            rest = {key: value for key, value in document.items() if key not in ("versions", "deployed")}
            yield _pruned({**rest, "programs": programs, "schedule": schedule})


def _plainer_entries(document: Document) -> Iterator[Document]:
    schedule = document["schedule"]
    for index, entry in enumerate(schedule):
        omissible = () if any(word in entry for word in _KEPT) else OMISSIBLE
        for changed in (*_plainer(entry, omissible), *_directly(entry)):
            yield _pruned({**document, "schedule": [*schedule[:index], changed, *schedule[index + 1 :]]})


def _directly(entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A call itself in place of one that is left in flight, or whose answer is lost; of what may only let the
    Host run, the plainest."""
    for word in ("start", "dropResponse"):
        if isinstance(entry.get(word), Mapping):
            yield entry[word]
    if not _PLAINEST & entry.keys():
        yield {"settle": True}


def _shorter_names(document: Document) -> Iterator[Document]:
    """With the beginning of a long name in its place, wherever it stands."""
    for name in sorted({each for each in _texts(document["programs"]) if len(each) > LONG}):
        yield _renamed(document, name, name[:SHORT])


def _plainer_ids(document: Document) -> Iterator[Document]:
    """With a plain id in place of an odd one, or of one that the Host issues."""
    schedule = document["schedule"]
    calls = [each for entry in schedule for each in (entry, *_creates(entry))]
    ids = [(each["create"], each.get("as")) for each in calls if "create" in each]
    plain = next((each for each in IDS if all(id != each for id, _ in ids)), None)
    for id, variable in ids:
        if plain is None or id in IDS:
            continue
        changed = [_with_id(entry, id, variable, plain) for entry in schedule]
        if changed != schedule:
            yield {**document, "schedule": changed}


def _with_id(entry: Mapping[str, Any], id: Any, variable: Any, plain: str) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for key, value in entry.items():
        if key in ("start", "dropResponse") and isinstance(value, Mapping):
            value = _with_id(value, id, variable, plain)
        elif key in ON_AN_ID and (value == id or (variable and value == {"$": variable})):
            value = plain
        changed[key] = value
    return {key: value for key, value in changed.items() if key != "as" or value != variable}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for child in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _texts(child)


def _renamed(value: Any, name: str, other: str) -> Any:
    if isinstance(value, str):
        return value.replace(name, other)
    if isinstance(value, Mapping):
        return {key: _renamed(child, name, other) for key, child in value.items()}
    return [_renamed(child, name, other) for child in value] if isinstance(value, list) else value


# Programs


def _smaller_block(block: list[Any]) -> Iterator[list[Any]]:
    yield from _without_spans(block)
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
    effect = operation.get("effect")
    if isinstance(effect, Mapping):
        for inner in [*effect.get("attempts", ()), *([effect["then"]] if "then" in effect else [])]:
            yield [{**operation, "effect": inner}]
    yield from ([each] for each in _plainer(operation, OMISSIBLE))
    for key in BODIES:
        if isinstance(operation.get(key), list):
            for smaller in _smaller_block(operation[key]):
                yield [{**operation, key: smaller}]


def _plainer(piece: Mapping[str, Any], omissible: Sequence[str]) -> Iterator[dict[str, Any]]:
    """An operation or an entry without one of its members, or with a plainer value."""
    for key in omissible:
        if key in piece:
            yield {each: value for each, value in piece.items() if each != key}
    for key, values in PLAINER.items():
        if key in piece:
            before = values.index(piece[key]) if piece[key] in values else len(values)
            yield from ({**piece, key: value} for value in values[:before])
