"""What the scenario itself says about a refusal: which clauses it is about, by what it contains.

Most of a scenario may have nothing to do with what was seen. But one that has been made small contains what
the failure needs, so that anything out of the ordinary in it speaks: a restart, weights that changed, an id
in two forms, an argument at its bound. The rarer it is, the more points it gives the clauses that it is
about.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fencepost_spec.limits import FORM

Said = Iterator[tuple[str, float]]
"""A clause, and its points."""

Named = tuple[float, tuple[str, ...]]
"""Points for the first of some clauses; the others have half of them."""

SURE, STRONG, SOME, WEAK = 7.0, 3.5, 2.0, 1.0

_DAY = 86_400
DEEP = 60  # levels of a program and its documents

ODDITIES: Mapping[str, Named] = {
    **dict.fromkeys(("arrayRoot", "stringRoot", "properties1024", "properties1025"), (STRONG, ("DOC-1",))),
    "nullRoot": (STRONG, ("DOC-7", "DOC-1")),
    **dict.fromkeys(
        ("hole", "nan", "infinity", "loneSurrogateValue", "loneSurrogateKey"), (STRONG, ("DOC-3", "DOC-4"))
    ),
    **dict.fromkeys(("accessor", "accessorThatThrows", "toJSONFunction"), (STRONG, ("DOC-6", "DOC-4"))),
    "sharedObject": (SURE, ("DOC-5",)),
    "nestedUndefined": (STRONG, ("DOC-4", "DOC-3")),
    "ownProto": (SURE, ("DOC-10",)),
    "negativeZero": (SURE, ("DOC-9",)),
}
"""Kind of an odd value -> what says whether it is a document, and as what it comes back."""

_OTHER_ODDITY = (STRONG, ("DOC-4",))

KEYS: Mapping[str, Named] = {
    **dict.fromkeys(("$size", "$repeat"), (WEAK, ("DOC-2",))),
    "$params": (SOME, ("DOC-9", "ABI-2")),
    "$describe": (STRONG, ("ERR-1",)),
    **dict.fromkeys(("__proto__", "constructor", "toJSON", "then"), (WEAK, ("DOC-10",))),
}
"""Member of any value -> what it is about."""

OPERATIONS: Mapping[str, Named] = {
    "rethrow": (STRONG, ("ERR-2", "ERR-5")),
    "throwCopyOf": (STRONG, ("ERR-2",)),
    "throwCauseOf": (STRONG, ("ERR-5",)),
    "unawaited": (STRONG, ("STP-8", "STP-6", "STP-17")),
    **dict.fromkeys(("together", "race"), (STRONG, ("STP-6", "STP-8"))),
    **dict.fromkeys(("moduleCounter", "instanceCounter"), (STRONG, ("CTX-1", "CTX-3", "ABI-2"))),
    "mark": (STRONG, ("STP-12", "TRM-1")),
    "finally": (WEAK, ("STP-12", "STP-6")),
    "handler": (WEAK, ("ERR-4", "STP-6")),
    "catch": (WEAK, ("ERR-4",)),
    "repeat": (WEAK, ("STP-3", "DO-6")),
}
"""Word of an operation -> what it is about."""

EFFECTS: Mapping[str, Named] = {
    "nested": (STRONG, ("STP-7", "STP-6", "ERR-6")),
    "oddity": (STRONG, ("DO-8",)),
    "undefined": (WEAK, ("STP-13", "STP-14")),
    "throw": (WEAK, ("DO-7",)),
}
"""Word of an effect -> what it is about."""

POLICIES: Mapping[str, Named] = {
    "maxAttempts": (WEAK, ("DO-7", "DO-2")),
    "initialDelaySeconds": (SOME, ("DO-3", "DO-10")),
    "maxDelaySeconds": (STRONG, ("DO-3",)),
    "backoff": (STRONG, ("DO-3",)),
}
"""Member of a retry policy -> what it is about."""

ENTRIES: Mapping[str, Named] = {
    "deploy": (SURE, ("CTX-2", "STP-5", "SLP-5")),
    "restart": (STRONG, ("LIF-4", "RET-3", "BND-12")),
    "holdWakes": (SOME, ("WFE-6", "LIF-5", "WFE-5")),
    "dropResponse": (WEAK, ("BND-3",)),
    "deleteResource": (STRONG, ("DEL-3", "DEL-4", "DEL-5")),
    "recreateResource": (SURE, ("DEL-7", "DEL-3", "DEL-5")),
    "stuck": (SOME, ("PUB-1", "TRM-1", "TRM-2")),
    "pause": (SOME, ("PUB-2", "PUB-1")),
    "kill": (SOME, ("DO-12", "DO-4", "WFE-9")),
    "recover": (SOME, ("PUB-2",)),
    "terminate": (SOME, ("TRM-1", "TRM-3")),
    "start": (WEAK, ("TRM-5", "TRM-2")),
}
"""Word of an entry -> what it is about."""

_ABOUT: Mapping[str, str] = {
    "seconds": "SLP-1",
    "timeoutSeconds": "WFE-1",
    **dict.fromkeys(("maxAttempts", "initialDelaySeconds", "maxDelaySeconds"), "DO-2"),
}
_BOUNDS: Mapping[str, tuple[int, int]] = {
    "seconds": (0, FORM.sleep_seconds),
    "timeoutSeconds": (FORM.wait_seconds_minimum, FORM.wait_seconds_maximum),
    "maxAttempts": (1, FORM.attempts_maximum),
    **dict.fromkeys(("initialDelaySeconds", "maxDelaySeconds"), (0, FORM.delay_seconds_maximum)),
}
"""Figure of a step or a policy -> the least and the most that it may be."""

_OUT_OF_REACH: Named = (STRONG, ("BND-8",))
_AT_A_RESTART: Mapping[str, Named] = {
    "do": (STRONG, ("DO-4",)),
    "wait": (STRONG, ("EVT-1", "WFE-9", "WFE-5")),
    "sleep": (STRONG, ("SLP-2",)),
}
"""Kind of a step -> what a restart may lose of it."""

_MUTATED: Named = (SURE, ("DOC-9",))
_PASSED_ON: Named = (SURE, ("ERR-6",))
_DEEP: Named = (SURE, ("DOC-3",))
_DECOMPOSED: Named = (STRONG, ("DOC-3", "STP-16"))
_ODD_OUTPUT: Named = (STRONG, ("ABI-4",))
_TWICE: Named = (STRONG, ("BND-3", "RET-1"))
_MANY: Named = (STRONG, ("EVT-3", "EVT-4"))
_LIFETIME: Named = (SOME, ("LIF-1", "LIF-5", "LIF-3a", "LIF-4", "RET-1"))
_RETENTION: Named = (STRONG, ("RET-1", "RET-3"))
_ODD_TYPE: Named = (STRONG, ("EVT-8", "EVT-1", "WFE-11"))
_ODD_ID: Named = (STRONG, ("BND-2",))
_ODD_NAME: Named = (STRONG, ("STP-2", "STP-4"))
_LANGUAGE = frozenset({"constructor", "__proto__", "toString"})
_TWINS: Named = (SURE, ("STP-16",))
_NO_ARGUMENT: Mapping[str, Named] = {
    "do": (STRONG, ("DO-1", "STP-4")),
    "sleep": (STRONG, ("STP-4", "SLP-1")),
    "wait": (STRONG, ("WFE-1", "STP-4")),
}


def of_contents(schedule: Sequence[Mapping[str, Any]], programs: Mapping[str, Any]) -> dict[str, float]:
    """The clauses that a scenario is about, with the most points that anything in it gives them."""
    points: dict[str, float] = defaultdict(float)
    for worth, clauses in _everything(schedule, programs):
        for place, clause in enumerate(clauses):
            points[clause] = max(points[clause], worth / (1 + bool(place)))
    return points


def _everything(schedule: Sequence[Mapping[str, Any]], programs: Mapping[str, Any]) -> Iterator[Named]:
    for mapping in mappings([schedule, programs]):
        for key, argument in mapping.items():
            if key in ("$oddity", "oddity") and isinstance(argument, str):
                yield ODDITIES.get(argument, _OTHER_ODDITY)
            if key in KEYS:
                yield KEYS[key]
    yield from _of_entries(schedule)
    yield from _of_texts(programs)
    for operation in mappings(programs):
        yield from _of_operation(operation)
    if any("restart" in entry for entry in schedule):
        yield from (
            _AT_A_RESTART[kind] for kind in _AT_A_RESTART if any(kind in each for each in mappings(programs))
        )
    names = [each[kind] for each in mappings(programs) for kind in ("do", "sleep", "wait") if kind in each]
    if _has_twins(names):
        yield _TWINS


def mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object inside of a value, itself among them, at any depth; in no order."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, Mapping):
            yield each
            pending.extend(each.values())
        elif isinstance(each, list | tuple):
            pending.extend(each)


def _has_twins(texts: Sequence[Any]) -> bool:
    """Whether two of them are nearly one."""
    plain = {each for each in texts if isinstance(each, str)}
    merged = {unicodedata.normalize("NFC", each).casefold().strip() for each in plain}
    return len(merged) < len(plain)


def _of_texts(programs: Any) -> Iterator[Named]:
    """What is deep, or written in more than one way."""
    pending = [(programs, 0)]
    while pending:
        value, depth = pending.pop()
        if depth > DEEP:
            yield _DEEP
            return
        if isinstance(value, str) and unicodedata.normalize("NFC", value) != value:
            yield _DECOMPOSED
        children: list[Any] = [*value.keys(), *value.values()] if isinstance(value, Mapping) else []
        children += value if isinstance(value, list | tuple) else []
        pending.extend((child, depth + 1) for child in children)


# Entries


def _of_entries(schedule: Sequence[Mapping[str, Any]]) -> Iterator[Named]:
    created: set[str] = set()
    ids: list[Any] = []
    seconds = 0.0
    for entry in schedule:
        yield from (ENTRIES[word] for word in entry if word in ENTRIES)
        if entry.get("backend") == "down":
            yield _OUT_OF_REACH
        call = entry.get("dropResponse", entry.get("start", entry))
        named = [call[word] for word in ("create", "get", "status", "sendEvent", "terminate") if word in call]
        ids += named
        if any(_is_odd(each) for each in named):
            yield _ODD_ID
        if call.get("create") is not None:
            if repr(call["create"]) in created:
                yield _TWICE
            created.add(repr(call["create"]))
        if "sendEvent" in call:
            if not _is_plain(call.get("type")):
                yield _ODD_TYPE
            if call.get("times", 1) > 1:
                yield _MANY
        seconds += entry.get("advance", 0)
    if _has_twins(ids):
        yield _TWINS
    if seconds >= FORM.lifetime_seconds - _DAY:  # more than steps need
        yield _LIFETIME
    elif seconds >= FORM.retention_seconds - _DAY:
        yield _RETENTION


def _is_odd(id: Any) -> bool:
    if isinstance(id, Mapping):
        return "$" not in id
    return id is not None and (not isinstance(id, str) or not id)


def _is_plain(type: Any) -> bool:
    return isinstance(type, str) and type.isascii() and type.isalpha() and type.islower() and len(type) < 9


# Programs


def _of_operation(operation: Mapping[str, Any]) -> Iterator[Named]:
    yield from (OPERATIONS[word] for word in operation if word in OPERATIONS)
    if "." in str(operation.get("set", "")) and not operation["set"].startswith("out."):
        yield _MUTATED
    if isinstance(operation.get("return"), Mapping) and "$oddity" in operation["return"]:
        yield _ODD_OUTPUT
    effect, policy = operation.get("effect"), operation.get("retry")
    if isinstance(effect, Mapping):
        yield from (EFFECTS[word] for word in effect if word in EFFECTS)
    if "rethrow" in (operation.get("nested") or ()):
        yield _PASSED_ON
    if isinstance(policy, Mapping):
        yield from (POLICIES[word] for word in policy if word in POLICIES)
        if "maxAttempts" not in policy or policy.get("backoff", "constant") not in (
            "constant",
            "exponential",
        ):
            yield STRONG, ("DO-2", "STP-4")
        yield from _of_figures(policy)
    for kind, lacks in _NO_ARGUMENT.items():
        if kind in operation:
            yield from _of_name(operation[kind])
            yield from _of_figures(operation)
            if kind == "wait" and not _is_plain(operation.get("type", "")):
                yield STRONG, ("WFE-1", "STP-4")
            needed = {"do": "effect", "sleep": "seconds", "wait": "timeoutSeconds"}[kind]
            if needed not in operation or (kind == "do" and not isinstance(effect, Mapping)):
                yield lacks


def _of_figures(given: Mapping[str, Any]) -> Iterator[Named]:
    """Figures that are refused, or that just fit."""
    for key, (least, most) in _BOUNDS.items():
        if key not in given:
            continue
        figure = given[key]
        if isinstance(figure, bool) or not isinstance(figure, int) or not least <= figure <= most:
            yield STRONG, ("STP-4", _ABOUT[key])
        elif figure == most:
            yield STRONG, (_ABOUT[key], "STP-4")


def _of_name(name: Any) -> Iterator[Named]:
    if not isinstance(name, str) or not name or len(name) >= FORM.name_scalars:
        yield _ODD_NAME
    elif name in _LANGUAGE:
        yield _TWINS
