"""The history of one run as diagnosis shows it: identities, records, deliveries, and two answers.

**Identities** (GRT-5) are texts that never change. A run has a number in its Host, which is never given
out again, so that two runs under one instance id are told apart. The execution of a step is the run and the
step's name, an attempt the execution and the attempt's number. An attempt that is delivered again after its
owner was lost is the same attempt; a retry is the next one (GRT-7).

**Two questions** are answered apart (GRT-6). *Perhaps repeated* lists attempts whose effect may have taken
place more often than its outcome says: delivered more than once, or given up without an outcome. That is
normal at-least-once delivery, and for the application to bear. *Committed twice* lists identities with more
than one outcome. Only that is a fault of the Host, and there must be none.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fencepost.history.entries import COMMITTED, Entry
from fencepost.machine import status_of
from fencepost.machine.state import Instance

FORMAT = "fencepost.history@1"


@dataclass(frozen=True)
class Kept:
    """A command that a caller gave an id, as it was taken."""

    id: str
    kind: str
    at: int


@dataclass(frozen=True)
class History:
    """What a Host keeps of one run: its number, its state, its entries and the commands about it."""

    resource: str
    number: int
    instance: Instance
    entries: Sequence[Entry]
    commands: Sequence[Kept] = ()

    @property
    def run(self) -> str:
        """The id of the run."""
        return f"run-{self.number}"

    def execution(self, step: str) -> str:
        """The id of a step's execution."""
        return f"{self.run}/{quote(step, safe='')}"

    def attempt(self, step: str, number: int) -> str:
        """The id of an attempt."""
        return f"{self.execution(step)}/{number}"

    def perhaps_repeated(self) -> list[dict[str, Any]]:
        """The attempts whose effect may have taken place more often than the outcome says (GRT-6, GRT-10)."""
        owners: dict[tuple[str, int], list[int]] = {}
        outcomes: dict[tuple[str, int], str] = {}
        late = {each.owner for each in self.entries if each.kind == "late"}
        for each in self.entries:
            if each.kind == "delivery":
                owners.setdefault((each.step, each.attempt), []).append(each.owner)
            elif each.kind == "attempt":
                outcomes[each.step, each.attempt] = each.outcome
        return [
            self._of(step, number)
            | {"deliveries": len(had), "outcome": outcomes.get((step, number))}
            | {"lateReport": not late.isdisjoint(had)}
            for (step, number), had in owners.items()
            if len(had) > 1 or ((step, number) not in outcomes and self.instance.owner not in had)
        ]

    def committed_twice(self) -> list[dict[str, Any]]:
        """The identities with more than one outcome; none, or the Host is at fault (GRT-3, GRT-6)."""
        counted = Counter(self._outcomes())
        return [{"identity": name, "outcomes": count} for name, count in counted.items() if count > 1]

    def _outcomes(self) -> Iterable[str]:
        for each in self.entries:
            if each.kind == "attempt":
                yield self.attempt(each.step, each.attempt)
            if each.settles:
                yield self.execution(each.step) if each.step else self.run

    def _of(self, step: str, attempt: int = 0) -> dict[str, Any]:
        """The identities of an entry."""
        if not step:
            return {}
        found: dict[str, Any] = {"step": step, "execution": self.execution(step)}
        return found | ({"attempt": self.attempt(step, attempt), "number": attempt} if attempt else {})


def document(history: History) -> dict[str, Any]:
    """A history in its JSON form; instants are integer milliseconds."""
    instance = history.instance
    return {
        "format": FORMAT,
        "resource": history.resource,
        "instance": instance.id,
        "run": history.run,
        "status": status_of(instance),
        "createdAt": instance.created_at,
        "commands": [{"command": each.id, "call": each.kind, "at": each.at} for each in history.commands],
        "steps": [
            {"step": name, "execution": history.execution(name), "kind": step.kind, "finished": step.finished}
            | ({} if step.deadline is None else {"deadline": step.deadline})
            for name, step in instance.history.items()
        ],
        "inbox": [
            {"event": each.number, "type": each.type, "at": each.accepted_at} for each in instance.inbox
        ],
        "records": [_line(history, "record", each) for each in history.entries if each.kind in COMMITTED],
        "deliveries": [
            _line(history, "delivery", each) for each in history.entries if each.kind not in COMMITTED
        ],
        "perhapsRepeated": history.perhaps_repeated(),
        "committedTwice": history.committed_twice(),
    }


_FIGURES: Mapping[str, str] = {"lease": "until", "expiry": "until", "event": "event"}
_WORDS: Mapping[str, str] = {"attempt": "outcome", "end": "outcome", "late": "report"}
_NAMES: Mapping[str, str] = {"delivery": "attempt"}


def _line(history: History, key: str, entry: Entry) -> dict[str, Any]:
    line: dict[str, Any] = {key: _NAMES.get(entry.kind, entry.kind), "at": entry.at}
    line |= {"owner": entry.owner} if entry.owner else {}
    line |= history._of(entry.step, entry.attempt)
    if entry.kind in _WORDS:
        line[_WORDS[entry.kind]] = entry.outcome
    if entry.kind == "attempt" and entry.settles:
        line["settles"] = True
    if entry.figure is not None:
        line[_FIGURES[entry.kind]] = entry.figure
    return line | ({"version": entry.version} if entry.version else {})
