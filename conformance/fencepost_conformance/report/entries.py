"""How an entry of a schedule, and what it made visible, are worded in a picture."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ..adapter import Answer
from ..observations import Observation
from ..results import Difference
from ..run import ENTRIES
from . import facts
from .picture import ArrowKind

Entry = Mapping[str, Any]
Thing = TypeVar("Thing")

CALLS = frozenset({"create", "get", "status", "sendEvent", "terminate"})
COUNTS = frozenset({"effects", "marks", "runs"})
ABOUT_AN_INSTANCE = CALLS | {"kill", "pause", "resume", "stuck", "unstuck", "history"}
EXPECTATIONS = frozenset({"expect", "clause", "note", "as"})

SHOWN = 90  # characters of a document
SECONDS_A_DAY, SECONDS_AN_HOUR, SECONDS_A_MINUTE = 86_400, 3_600, 60


def word(entry: Entry) -> str:
    """The word that says what an entry is."""
    return next((each for each in entry if each in ENTRIES), "entry")


def call(entry: Entry) -> Entry:
    """The call that an entry makes, also inside `start` and `dropResponse`."""
    inner = entry.get("start", entry.get("dropResponse"))
    return inner if isinstance(inner, dict) else entry


def instance(entry: Entry, variables: Mapping[str, str]) -> str | None:
    """The id of the instance that an entry is about; an issued one is named by its variable."""
    named = next((value for key, value in call(entry).items() if key in ABOUT_AN_INSTANCE), None)
    if isinstance(named, dict) and isinstance(named.get("$"), str):
        return variables.get(named["$"], named["$"])
    if named is None and "create" in call(entry):
        variable = call(entry).get("as")
        return None if variable is None else variables.get(variable, variable)
    return named if isinstance(named, str) else None


def label(entry: Entry) -> str:
    """An entry in a few words."""
    named = word(entry)
    made = call(entry)
    if made is not entry:
        return f"{named} {label(made)}" + (f" as {entry['as']}" if "as" in entry else "")
    if named == "advance":
        return f"{duration(round(entry['advance'] * 1000))} pass"
    if named == "sendEvent":
        payload = f" {document(entry['payload'])}" if "payload" in entry else ""
        times = f" ×{entry['times']}" if "times" in entry else ""
        return f"sendEvent {_name(entry[named])} {document(entry.get('type'))}{payload}{times}"
    if named in COUNTS or named == "counts":
        return f"{named} of {', '.join(entry[named])}" if named in COUNTS else "counts of the resource"
    rest = [document(value) if isinstance(value, dict) else str(value) for value in _rest(entry, named)]
    own = entry.get(named)
    return " ".join([named, *([] if own is True else [_name(own)]), *rest])


def _rest(entry: Entry, named: str) -> list[Any]:
    return [value for key, value in entry.items() if key not in EXPECTATIONS | {named}]


def _name(value: Any) -> str:
    if isinstance(value, dict) and list(value) == ["$"]:
        return str(value["$"])
    return "(issued id)" if value is None else value if isinstance(value, str) else document(value)


def document(value: Any) -> str:
    """A value on one line, cut when it is long."""
    return facts.value(value, SHOWN)


def answer(entry: Entry, seen: Sequence[Observation]) -> str:
    """What an entry made visible, in a few words."""
    named = word(entry)
    answers = Counter(_answer(entry, named, each.answer) for each in seen)
    return ", ".join(text if count == 1 else f"{count} {text}" for text, count in answers.items() if text)


def _answer(entry: Entry, named: str, seen: Any) -> str:
    if isinstance(seen, Answer):
        return _call_answer(seen)
    if named in COUNTS:
        counts = seen.get(named, {}) if isinstance(seen, Mapping) else {}
        return ", ".join(f"{name}: {counts.get(name, 0)}" for name in entry[named])
    if named == "counts" and isinstance(seen, Mapping) and isinstance(seen.get("instanceCounts"), Mapping):
        return ", ".join(f"{status}: {count}" for status, count in seen["instanceCounts"].items() if count)
    if named in ("settle", "recover"):
        return ""
    return seen if isinstance(seen, str) else document(seen)


def _call_answer(seen: Answer) -> str:
    if seen.error is not None:
        return f"rejected: {seen.error[0]}"
    value = seen.value
    if isinstance(value, Mapping) and isinstance(value.get("status"), int):  # of a management call
        return " ".join(str(value[key]) for key in ("status", "code") if key in value)
    if isinstance(value, Mapping) and "records" in value:  # a history
        return f"{len(value['records'])} records, {len(value['deliveries'])} deliveries"
    if isinstance(value, Mapping) and "status" in value:
        rest = {key: each for key, each in value.items() if key != "status"}
        return " ".join([str(value["status"]), *([document(rest)] if rest else [])])
    return "ok" if value is None or isinstance(value, str) else document(value)


def status_seen(seen: Observation) -> str | None:
    """The status that an answer shows, if it shows one."""
    value = seen.answer.value if isinstance(seen.answer, Answer) else None
    status = value.get("status") if isinstance(value, Mapping) else None
    return status if isinstance(status, str) else None


def arrow(entry: Entry, seen: Sequence[Observation]) -> ArrowKind | None:
    """The kind of arrow for an entry's call, or None when it makes no call."""
    named = word(call(entry))
    if named not in CALLS:
        return None
    answers = [each.answer for each in seen if isinstance(each.answer, Answer)]
    if answers and all(each.error is not None for each in answers):
        return "refused"
    return "event" if named == "sendEvent" else "call"


def variables(schedule: Sequence[Entry], observations: Sequence[Observation]) -> dict[str, str]:
    """The ids that the Host issued, by the variables that keep them."""
    kept = {}
    for each in observations:
        made = call(schedule[each.index]) if each.index < len(schedule) else {}
        if "create" in made and "as" in made and isinstance(each.answer, Answer):
            kept[made["as"]] = str(each.answer.value)
    return kept


def place(difference: Difference) -> int:
    """The entry at which a difference was seen; the first where it does not say."""
    digits = re.search(r"[0-9]+", difference.at)
    return int(digits[0]) if digits else 0


def by_entry(things: Iterable[Thing], index: Callable[[Thing], int]) -> Mapping[int, tuple[Thing, ...]]:
    """What belongs to each entry."""
    grouped: dict[int, tuple[Thing, ...]] = {}
    for thing in things:
        grouped[index(thing)] = (*grouped.get(index(thing), ()), thing)
    return grouped


def duration(milliseconds: int) -> str:
    """A length of time in the largest units that say it exactly."""
    seconds, rest = divmod(milliseconds, 1000)
    units = (("d", SECONDS_A_DAY), ("h", SECONDS_AN_HOUR), ("min", SECONDS_A_MINUTE))
    parts = []
    for unit, size in units:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count:,} {unit}")
    if seconds and rest:
        parts.append(f"{seconds}.{rest:03}".rstrip("0") + " s")
    elif seconds:
        parts.append(f"{seconds} s")
    elif rest:
        parts.append(f"{rest} ms")
    return " ".join(parts) or "0 s"


def instant(milliseconds: int) -> str:
    """An instant since the start of the scenario, in seconds, exactly."""
    seconds, rest = divmod(milliseconds, 1000)
    return f"{seconds:,}" + (f".{rest:03}".rstrip("0") if rest else "") + " s"
