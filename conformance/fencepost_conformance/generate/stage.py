"""A scenario that is made up while it runs: one open `Run`, and what has to be known to think of the next
entry.

`play` appends an entry to the scenario and runs it at once. What is kept here is the kit's own side: ids that
were used, gates, calls in flight, instances that are stuck or frozen. Instants come from the reference (see
`deadlines`). Where the Host is one of ours that is the Host itself; otherwise a reference of the kit's own
runs the same entries beside it, and falls out of use if it cannot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fencepost.host.virtual import VirtualHost
from fencepost.machine.state import Instance

from ..adapter import AdapterFault, Connection, Handshake
from ..hosts.reference import ReferenceAdapter
from ..inprocess import InProcess
from ..observations import NO_ANSWER, Observation
from ..run import Run, word_of
from ..runner import greet
from ..scenario import FORMAT, Scenario, ScenarioError
from .deadlines import Around, around, seconds
from .programs import Program

Entry = dict[str, Any]

IDS = ("i", "j", "k")
NAME = "generated"
TERMINAL = frozenset({"complete", "errored", "terminated"})
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Stage:
    """One scenario being made up on one Host."""

    real_time = False
    """Whether to move the clock is to wait."""

    def __init__(
        self, connection: Connection, handshake: Handshake, versions: Sequence[str] = (), *, aim: bool = True
    ) -> None:
        self.handshake = handshake
        self.document: dict[str, Any] = {
            "format": FORMAT,
            "title": "A generated scenario",
            "judged": True,
            "clauses": [],
        }
        if versions:
            self.document |= {"versions": {each: {} for each in versions}, "deployed": versions[0]}
        self.document |= {"programs": {}, "schedule": []}
        self.run = Run(connection, handshake, self.scenario)
        self.words: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.ids: list[Any] = []
        self.programs: dict[str, Program] = {}
        self.creates = 0
        self.gates: list[str] = []
        self.released: set[str] = set()
        self.stuck: list[str] = []
        self.frozen: list[str] = []
        self.flying: list[str] = []
        self.flights = 0
        self.sent = 0
        self.wakes_held = False
        self.last_status: dict[str, str] = {}
        self._aim = aim
        self._beside: Run | None = None

    @property
    def scenario(self) -> Scenario:
        """The scenario as it is now."""
        return Scenario(NAME, self.document)

    @property
    def observations(self) -> list[Observation]:
        """Everything seen so far."""
        return self.run.observations

    @property
    def entries(self) -> list[Entry]:
        """The schedule so far."""
        entries: list[Entry] = self.document["schedule"]
        return entries

    @property
    def prefix(self) -> str:
        """What the steps of the next program begin with."""
        turn, letter = divmod(self.creates, len(_LETTERS))
        return _LETTERS[letter] * (turn + 1)

    @property
    def versions(self) -> tuple[str, ...]:
        """The Versions between which a deployment may choose."""
        return tuple(self.document.get("versions", ()))

    def offers(self, instrument: str) -> bool:
        """Whether the Host has an instrument, and a clock that can be moved at will."""
        if instrument == "clock" and self.handshake.advance_seconds is not None:
            return False
        return instrument in self.handshake.instruments

    def can_recover(self) -> bool:
        """Whether the clock may be moved past the lease."""
        return True

    # Running

    def begin(self) -> None:
        """Have a fresh Host set up; raises AdapterFault."""
        self.run.begin()
        if self._aim and self._ours() is None and self.offers("clock"):
            connection = InProcess(ReferenceAdapter())
            self._beside = Run(connection, greet(connection), self.scenario)
            self._beside.begin()

    def play(self, entry: Entry) -> None:
        """Run one more entry; raises AdapterFault."""
        self.entries.append(entry)
        word = word_of(entry)
        self.words[word] += 1
        self._count_pair(word, entry)
        before = len(self.observations)
        self.run.enter(entry)
        for observation in self.observations[before:]:
            self._learn(entry, observation)
        self._play_beside(entry)

    def end(self) -> None:
        """Have the Host taken down; raises AdapterFault."""
        self.run.end()

    def _play_beside(self, entry: Entry) -> None:
        if self._beside is None:
            return
        try:
            self._beside.enter(entry)
        except (AdapterFault, ScenarioError):
            self._beside = None  # an aim that does not follow is none

    def _count_pair(self, word: str, entry: Entry) -> None:
        named = entry[word]
        while isinstance(named, Mapping) and word in ("start", "dropResponse"):
            word = word_of(named)
            named = named[word]
        if word in _ON_AN_INSTANCE:
            self.pairs[word, self.last_status.get(str(named), "unknown")] += 1

    def _learn(self, entry: Entry, observation: Observation) -> None:
        answer = observation.answer
        if observation.word == "status" and answer != NO_ANSWER:
            seen = answer.value.get("status", "unknown") if answer.error is None else "unknown"
            self.last_status[str(entry["status"])] = str(seen)

    # Aiming

    def _ours(self) -> VirtualHost | None:
        adapter = getattr(self.run.connection, "adapter", None)
        host = adapter.host if isinstance(adapter, ReferenceAdapter) else None
        return host if isinstance(host, VirtualHost) else None

    @property
    def reference(self) -> VirtualHost | None:
        """The reference that is, or runs beside, the Host."""
        ours = self._ours()
        if ours is not None:
            return ours
        adapter = getattr(self._beside.connection, "adapter", None) if self._beside is not None else None
        return adapter.host if isinstance(adapter, ReferenceAdapter) else None

    @property
    def now(self) -> int:
        """The instant in milliseconds, where it is known."""
        return self.reference.clock if self.reference is not None else 0

    def instants(self) -> list[Around]:
        """The instants around the deadlines in play."""
        return around(self.reference) if self.reference is not None and self.offers("clock") else []

    def awaited(self) -> tuple[str, ...]:
        """The types of the events for which an instance waits, or will."""
        coming = {each for program in self.programs.values() for each in program.types}
        return tuple(sorted(coming | {type for _, type in self.awaited_now()}))

    def awaited_now(self) -> list[tuple[str, str]]:
        """The ids and the types for which instances of the reference wait now."""
        host = self.reference
        if host is None:
            return []
        return [
            (id, step.type)
            for (uid, id), slot in host.slots.items()
            if uid == host.uid and isinstance(slot, Instance) and slot.live
            for step in slot.history.values()
            if step.outcome is None and step.type is not None
        ]

    def next_wake(self, id: str | None = None) -> Around | None:
        """The instant just past the nearest deadline of a step, of one instance or of any."""
        for each in self.instants():
            if each.where == "1 s past" and each.deadline.step and id in (None, each.deadline.instance):
                return each
        return None

    # Entries that more than one rule makes

    def new_program(self, program: Program) -> str:
        """Put a program into the scenario, and give its name there."""
        self.creates += 1
        name = f"p{self.creates}"
        self.document["programs"][name] = list(program.operations)
        if program.newer is not None and len(self.versions) > 1:
            newer = f"{name}-{self.versions[1]}"
            self.document["programs"][newer] = list(program.newer)
            self.document["versions"][self.versions[1]][name] = newer
        self.gates += [each for each in program.gates if each not in self.gates]
        return name

    def look(self, *ids: Any) -> None:
        """Read the status of instances; without ids, of all that are not known to have ended."""
        for id in ids or [each for each in self.ids if self.last_status.get(str(each)) not in TERMINAL]:
            self.play({"status": id})

    def settle(self) -> None:
        """Let the Host run, if it can be."""
        if self.offers("clock"):
            self.play({"settle": True})

    def deleted(self) -> bool:
        """Whether the resource is gone."""
        return "workflow" not in self.run.ask("resources")

    def advance_to(self, instant: int) -> None:
        """Move the clock; nothing runs."""
        self.play({"advance": seconds(instant - self.now)})

    def closed_gates(self) -> list[str]:
        """Gates that nobody has released."""
        return [each for each in self.gates if each not in self.released]

    def name_flight(self) -> str:
        """A name for a call that is begun now."""
        self.flights += 1
        return f"c{self.flights}"


_ON_AN_INSTANCE = frozenset(
    {"create", "get", "status", "sendEvent", "terminate", "kill", "pause", "resume", "stuck", "unstuck"}
)
