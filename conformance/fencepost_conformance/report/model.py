"""The report of one run, before anybody has decided how it looks.

A `Report` is the run's record plus the facts that make it repeatable: which kit, which catalogue, which
Host with which instruments, which seed, which selection. It does no I/O and knows no layout; every renderer
is a function of it, so that no two renderings can disagree about a verdict.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from ..expected_failures import ExpectedFailure
from ..scenario import Suite
from ..verdict import ClauseRecord, RunRecord, RunVerdict, Standing

WORDS: Mapping[Suite, Mapping[RunVerdict, str]] = {
    "form": {"qualified": "qualified", "not-qualified": "not-qualified", "incomplete": "incomplete"},
    "guarantees": {
        "qualified": "guarantees kept",
        "not-qualified": "guarantees not kept",
        "incomplete": "guarantees incomplete",
    },
}
"""The verdict of a suite in words: that of one is never read as that of the other."""


@dataclass(frozen=True)
class Kit:
    """What judged: the version of the kit, its probe's digest, and the catalogue that it judged by."""

    version: str
    catalogue_version: str
    catalogue_digest: str
    probe_digest: str


@dataclass(frozen=True)
class HostFacts:
    """What was judged: the word that named the Host on the command line, and what its handshake said.

    A `foreign` Host is one that does not claim the Form: every report of it says so.
    """

    address: str
    name: str
    version: str
    instruments: tuple[str, ...] = ()
    lease_seconds: float = 0.0
    foreign: bool = False

    @property
    def standing(self) -> str:
        """What it is to the Form, where there is something to say."""
        return "a foreign Host: it does not claim the Form" if self.foreign else ""

    @property
    def has_clock(self) -> bool:
        """Whether the kit can move the Host's clock; else scenarios are played on real time."""
        return "clock" in self.instruments


@dataclass(frozen=True)
class Selection:
    """The part of the kit that was run; all at their defaults means all of it.

    `only` is ``directed`` or ``generated``, or empty for both.
    """

    clauses: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    heavy: bool = True
    only: str = ""

    def __bool__(self) -> bool:
        return bool(self.clauses or self.scenarios or not self.heavy or self.only)

    def __str__(self) -> str:
        rest = (f"{self.only} only" if self.only else "", "" if self.heavy else "without heavy scenarios")
        return ", ".join(filter(None, (*self.clauses, *self.scenarios, *rest)))


@dataclass(frozen=True)
class Generated:
    """The generated part of a run: the profile, how many scenarios and entries, and what they reached.

    `words`, `clauses` and `actions` (by action and status) count what the scenarios exercised.
    """

    profile: str
    scenarios: int
    entries: int
    seconds: float
    words: Mapping[str, int]
    clauses: Mapping[str, int]
    actions: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Report:
    """One finished run."""

    kit: Kit
    host: HostFacts
    seed: int
    selection: Selection
    run: RunRecord
    exit_status: int
    started_at: str  # RFC 3339, UTC
    seconds: float = 0.0
    expected: Sequence[ExpectedFailure] = ()
    expected_problems: Sequence[str] = ()
    reproducers: Mapping[str, str] = field(default_factory=dict)  # scenario -> file
    generated: Generated | None = None

    @property
    def verdict_line(self) -> str:
        """The verdict; of a selection it says that it is one of the selection."""
        words = WORDS[self.run.suite][self.run.verdict]
        return f"{words} (selection: {self.selection})" if self.selection else words

    def standing(self, standing: Standing) -> tuple[ClauseRecord, ...]:
        """The clauses with this standing."""
        return tuple(record for record in self.run.clauses if record.standing == standing)

    def chapters(self) -> tuple[tuple[str, tuple[ClauseRecord, ...]], ...]:
        """The clauses by chapter, in the order of the catalogue."""
        grouped = groupby(self.run.clauses, key=lambda record: record.clause.chapter)
        return tuple((chapter, tuple(records)) for chapter, records in grouped)

    def replay_line(self, scenario: str) -> str:
        """The command that shows a failure again."""
        return shlex.join(
            ["fencepost", "replay", self.reproducers.get(scenario, scenario), self.host.address]
        )

    def expectation(self, clause: str) -> ExpectedFailure | None:
        """The expected failure that speaks of a clause."""
        return next((entry for entry in self.expected if entry.clause == clause), None)
