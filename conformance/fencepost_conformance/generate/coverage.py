"""What generated scenarios reached: words, clauses, and in which status each action found its instance.

Where a reference runs (as the Host, or beside it) its trace says which moves were made and which clauses are
behind each. What no single move shows is counted by `reach`: a program that throws a copied error tries
ERR-2, and no move of the machine says so. Where no reference can follow only the caller's words and the
statuses that were read are counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.host.virtual import VirtualHost

from . import reach
from .stage import Stage

STATUSES = ("unknown", "queued", "running", "sleeping", "waiting", "complete", "errored", "terminated")


class Coverage:
    """Counts over many scenarios."""

    def __init__(self) -> None:
        self.scenarios = 0
        self.entries = 0
        self.words: Counter[str] = Counter()
        self.clauses: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()

    def add(self, stage: Stage) -> None:
        """Count a scenario that is over, while its Host is still there."""
        self.scenarios += 1
        self.entries += len(stage.entries)
        self.words.update(stage.words)
        self.clauses.update(reach.tried(stage.document, stage.observations))
        host = stage.reference
        if host is None:
            self.pairs.update(stage.pairs)
            return
        self.clauses.update(clause for moment in host.trace for clause in moment.clauses)
        self.clauses.update(reach.shown(host.trace))
        self.pairs.update(_pairs(host))

    def add_all(self, other: Coverage) -> None:
        """Count what another search has counted."""
        self.scenarios += other.scenarios
        self.entries += other.entries
        for counter in ("words", "clauses", "pairs"):
            getattr(self, counter).update(getattr(other, counter))

    def actions(self) -> list[str]:
        """The actions that were seen, in the order of their names."""
        return sorted({action for action, _ in self.pairs})

    def document(self) -> dict[str, Any]:
        """All counts, as JSON."""
        by_action: dict[str, dict[str, int]] = defaultdict(dict)
        for (action, status), count in sorted(self.pairs.items()):
            by_action[action][status] = count
        return {
            "words": _sorted(self.words),
            "clauses": _sorted(self.clauses),
            "actions": dict(by_action),
        }


def _pairs(host: VirtualHost) -> Iterator[tuple[str, str]]:
    """Each move, and the status in which it found its instance."""
    status: dict[str, str] = {}
    for moment in host.trace:
        yield type(moment.action).__name__, status.get(moment.instance) or "unknown"
        status[moment.instance] = moment.status or "unknown"


def _sorted(counter: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counter.items()))
