"""One scenario being run: what each entry of a schedule asks of the adapter, and what was seen.

Every entry is looked up by its word in a table, so that a schedule can be played at once (`play`), or one
entry at a time while it is still being thought of (`begin`, `enter`, `end`).

**Answers.** A caller's call that the Host cannot answer at once may need the Host to be let run: it is
settled, once, and then the call must have ended. Calls that are to stay in flight are begun with `start`.

**Judged scenarios** carry no expectations. Nothing is held against one; what was seen is kept in
`observations`, and with each `settle` the journal's counts, and a judge says whether any Host may show that.
"""

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from fencepost_spec.schemas import problems

from . import calls
from .adapter import INSTRUMENT_OF, AdapterFault, Answer, Connection, Handshake
from .expectations import alternatives, bare, judge, shown, within
from .histories import mismatch
from .management import Management
from .observations import IN_FLIGHT, NO_ANSWER, Observation
from .probe.values import build, interpolate
from .results import Difference
from .scenario import Scenario, ScenarioError

DEADLINE_SECONDS = 60.0  # of one request, in real time
_MILLISECONDS = 1000
PAST_LEASE_SECONDS = 1  # a Host's clock may be as coarse as a second (TIM-1)
_NEVER_USED = frozenset({"binding"})  # by what is generated

Entry = Mapping[str, Any]


def needed_instruments(scenario: Scenario) -> set[str]:
    """The instruments that the entries and programs of a scenario need."""
    return {INSTRUMENT_OF[word] for word in scenario.words if word in INSTRUMENT_OF}


class Run:
    """One scenario being run; `missed` are differences from which nothing follows, since time went by."""

    def __init__(
        self,
        connection: Connection,
        handshake: Handshake,
        scenario: Scenario,
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        self.connection = connection
        self.handshake = handshake
        self.scenario = scenario
        self.deadline = deadline
        self.token = f"t{secrets.token_hex(6)}"
        self.variables: dict[str, Any] = {}
        self.differences: list[Difference] = []
        self.missed: list[Difference] = []
        self.choices: dict[str, str] = {}
        self.management = Management(self)
        self.observations: list[Observation] = []
        self.index = 0
        self._began = 0.0
        self._sent = 0.0
        self._flying: dict[str, tuple[Entry, int]] = {}
        self._landed: dict[str, Answer] = {}

    @property
    def at(self) -> str:
        """Where the present entry stands in the scenario."""
        return f"schedule[{self.index}]"

    def play(self) -> list[Any]:
        """Run every entry, and return the traps that never sprung; raises AdapterFault or ScenarioError."""
        self.begin()
        for entry in self.scenario.schedule:
            self.enter(entry)
        return self.end()

    def begin(self) -> None:
        """Have the adapter set up a fresh Host; raises AdapterFault."""
        scenario, uses = self.scenario, needed_instruments(self.scenario)
        if scenario.judged:  # the same from the first entry on, whatever the others will be
            uses |= self.handshake.instruments - _NEVER_USED
        self.ask(
            "begin",
            token=self.token,
            versions=list(scenario.versions),
            deployed=dict(scenario.deployed),
            uses=sorted(uses & self.handshake.instruments),
        )
        self._began = time.monotonic()

    def enter(self, entry: Entry) -> None:
        """Run the next entry; raises AdapterFault or ScenarioError."""
        self._sent = time.monotonic()
        self.act(entry)
        self.index += 1

    def act(self, entry: Entry) -> None:
        """Do what an entry says."""
        ENTRIES[word_of(entry)](self, entry)

    def end(self) -> list[Any]:
        """Have the adapter take the Host down; the traps that never sprung. Raises AdapterFault."""
        ended = self.ask("end")
        return list(ended.get("unsprung", ())) if isinstance(ended, dict) else []

    def give_up(self) -> None:
        """End a scenario that cannot go on, for the sake of the next one."""
        try:
            self.ask("end")
        except AdapterFault:
            break_off(self.connection)

    # Requests

    def ask(self, op: str, **arguments: Any) -> Any:
        """Ask something of the adapter itself; a rejection or no answer is its fault."""
        return value_of(
            op, reply_to(self.connection, op, self.connection.send(op, **arguments), self.deadline)
        )

    def call(self, op: str, arguments: Mapping[str, Any]) -> Answer | None:
        """Make a caller's call; None when it has not ended although the Host was let run."""
        ticket = self.connection.send(op, **arguments)
        answer = self.connection.poll(ticket, self.connection.patience)
        if answer is None:
            self.settle()
            answer = self.connection.poll(ticket, self.connection.patience)
        return self._checked(op, answer)

    def settle(self) -> None:
        """Let the Host run, if it can be."""
        if "clock" in self.handshake.instruments:
            self.ask("settle")

    def _checked(self, op: str, answer: Answer | None) -> Answer | None:
        if answer is not None and answer.error is None and op in calls.SHAPES:
            kind, words = calls.SHAPES[op]
            if not isinstance(answer.value, kind):
                raise AdapterFault(f"{op} returned {answer.value!r:.60}; return {words}")
        return answer

    # Findings

    def observe(self, word: str, seen: Any) -> None:
        """Keep what this entry made visible."""
        began, ended = self._sent - self._began, time.monotonic() - self._began
        self.observations.append(Observation(self.index, word, seen, began, ended))

    def differ(self, entry: Entry, expected: Any, seen: Any, message: str, clause: str | None = None) -> None:
        """Note a difference; it blames `clause`, the entry's, its expectation's, or the scenario's first."""
        self.differences.append(Difference(clause or self._blamed(entry), self.at, expected, seen, message))

    def _blamed(self, entry: Entry) -> str:
        named = (form.get("clause") for form in alternatives(entry.get("expect") or {}))
        return str(entry.get("clause") or next(filter(None, named), self.scenario.clauses[0]))

    def hold(self, entry: Entry, answer: Answer | None, expect: Any, match: Any = None) -> bool:
        """Hold an answer against an expectation: note the choice that was seen, or the difference."""
        if self.scenario.judged:
            return True
        if answer is None:
            self.differ(entry, bare(expect), None, self.not_ended())
            return False
        judgement = judge(expect, answer, self.variables, match)
        if judgement.held is None:
            self.differ(entry, bare(expect), shown(answer), judgement.message)
            return False
        if "choice" in judgement.held:
            self.choices[judgement.held.get("of", self.scenario.clauses[0])] = judgement.held["choice"]
        return True

    def not_ended(self) -> str:
        """What to say of a call that has not ended."""
        return "the call has not ended, although the Host was let run"

    # Calls of the caller

    def request(self, call: Entry) -> tuple[str, dict[str, Any]]:
        """The adapter's method and arguments for a CALL."""
        word = word_of(call)
        if word == "resource":
            return word, {"request": self.management.request(call)}
        return calls.OPS[word], calls.arguments(word, call, self.scenario, self.variables)

    def conclude(self, call: Entry, answer: Answer | None, entry: Entry) -> bool:
        """What becomes of a CALL that has ended; `entry` carries the expectation and the blame."""
        expect = entry.get("expect", call.get("expect"))
        if "resource" in call:
            return self.management.conclude(call, answer, entry, word_of(entry))
        self.observe(word_of(entry), NO_ANSWER if answer is None else answer)
        held = self.hold({**call, **entry}, answer, expect)
        if answer is not None and answer.error is None and "create" in call and "as" in call:
            self.variables[call["as"]] = answer.value
        return held

    def enter_call(self, entry: Entry) -> None:
        op, arguments = self.request(entry)
        for _ in range(entry.get("times", 1)):
            if not self.conclude(entry, self.call(op, arguments), entry):
                return

    def enter_start(self, entry: Entry) -> None:
        op, arguments = self.request(entry["start"])
        ticket = self.connection.send(op, **arguments)
        self._flying[entry["as"]] = (entry["start"], ticket)
        answer = self.connection.poll(ticket, self.connection.grace)  # what comes next is to arrive after it
        if answer is not None:
            self._landed[entry["as"]] = answer
        self.observe("start", IN_FLIGHT)

    def enter_await(self, entry: Entry) -> None:
        self.settle()
        self.conclude_flight(entry, self.connection.patience)

    def conclude_flight(self, entry: Entry, patience: float) -> None:
        """What has become of a call that was begun, at most so many seconds from now."""
        call, ticket = self._flight(entry["await"])
        answer = self._landed.pop(entry["await"], None) or self.connection.poll(ticket, patience)
        answer = self._checked(calls.OPS[word_of(call)], answer)
        if answer is not None:
            del self._flying[entry["await"]]
        self.conclude(call, answer, entry)

    def enter_pending(self, entry: Entry) -> None:
        name = entry["pending"]
        _, ticket = self._flight(name)
        answer = self._landed.get(name) or self.connection.poll(ticket, self.connection.grace)
        self.observe("pending", IN_FLIGHT if answer is None else answer)
        if answer is not None:
            self._landed[name] = answer
            if not self.scenario.judged:
                message = f"{name} has ended, it was to be in flight still"
                self.differ(entry, {"pending": name}, shown(answer), message)

    def _flight(self, name: str) -> tuple[Entry, int]:
        if name not in self._flying:
            raise ScenarioError(
                f'{self.scenario.id}: {self.at}: no call was begun as {name!r}; add a "start"'
            )
        return self._flying[name]

    def enter_drop_response(self, entry: Entry) -> None:
        op, arguments = self.request(entry["dropResponse"])
        self.ask("drop_response", call=op, arguments=arguments)
        self.observe("dropResponse", NO_ANSWER)

    # Instruments

    def enter_advance(self, entry: Entry) -> None:
        self.ask("advance", milliseconds=_milliseconds(entry["advance"]))

    def enter_settle(self, entry: Entry) -> None:
        self.ask("settle")
        if self.scenario.judged and "journal" in self.handshake.instruments:
            self.observe(word_of(entry), self.ask("journal"))

    def enter_recover(self, entry: Entry) -> None:
        past = self.handshake.lease_seconds + PAST_LEASE_SECONDS
        self.ask("advance", milliseconds=_milliseconds(past))
        self.enter_settle(entry)

    def enter_trap(self, entry: Entry) -> None:
        word = word_of(entry)
        self.ask(word, id=self.id_of(entry[word]), at=entry.get("at", "now"))

    def enter_owner(self, entry: Entry) -> None:
        word = word_of(entry)
        self.ask(word, id=self.id_of(entry[word]))

    def id_of(self, id: Any) -> Any:
        """The id that an entry names, through its variable where the Host issued it."""
        return build(id, self.variables)

    # Counts

    def enter_counts(self, entry: Entry) -> None:
        word = word_of(entry)
        counts = self.ask("journal")
        counted = counts[word]
        self.observe(word, counts)
        for name, expected in entry[word].items():
            key = interpolate(name, self.variables)
            seen = counted.get(key, 0)
            if not within(expected, seen):
                self.differ(
                    entry, {name: expected}, {name: seen}, f"{word} of {key}: {seen}, expected {expected}"
                )

    # The typed history

    def enter_history(self, entry: Entry) -> None:
        answer = self.call("history", {"id": self.id_of(entry["history"])})
        self.observe("history", NO_ANSWER if answer is None else answer)
        if answer is not None and answer.error is None:
            for problem in problems("history", answer.value):
                raise AdapterFault(f"history returned what is none: {problem}")
        self.hold(entry, answer, entry.get("expect"), mismatch)
        if answer is not None and "as" in entry:
            self.variables[entry["as"]] = answer.value


# The table

ENTRIES: Mapping[str, Callable[[Run, Entry], Any]] = {
    "create": Run.enter_call,
    "get": Run.enter_call,
    "status": Run.enter_call,
    "sendEvent": Run.enter_call,
    "terminate": Run.enter_call,
    "start": Run.enter_start,
    "await": Run.enter_await,
    "pending": Run.enter_pending,
    "dropResponse": Run.enter_drop_response,
    "advance": Run.enter_advance,
    "settle": Run.enter_settle,
    "release": lambda run, entry: run.ask("release", gate=entry["release"]),
    "kill": Run.enter_trap,
    "pause": Run.enter_trap,
    "resume": Run.enter_owner,
    "stuck": Run.enter_owner,
    "unstuck": Run.enter_owner,
    "recover": Run.enter_recover,
    "backend": lambda run, entry: run.ask("backend", up=entry["backend"] == "up"),
    "restart": lambda run, entry: run.ask("restart"),
    "holdWakes": lambda run, entry: run.ask("hold_wakes", on=entry["holdWakes"]),
    "deploy": lambda run, entry: run.management.enter_deploy(entry),
    "unbind": lambda run, entry: run.management.enter_change("unbind", entry),
    "bind": lambda run, entry: run.management.enter_change("bind", entry),
    "deleteResource": lambda run, entry: run.management.enter_delete(entry),
    "recreateResource": lambda run, entry: run.management.enter_recreate(entry),
    "resource": Run.enter_call,
    "verify": lambda run, entry: run.management.enter_verify(entry),
    "observe": lambda run, entry: run.management.enter_observe(entry),
    "ready": lambda run, entry: run.management.enter_ready(entry),
    "counts": lambda run, entry: run.management.enter_counts(entry),
    "effects": Run.enter_counts,
    "marks": Run.enter_counts,
    "runs": Run.enter_counts,
    "history": Run.enter_history,
}


def word_of(entry: Entry) -> str:
    """The word that says what an entry is; raises ScenarioError."""
    for word in entry:
        if word in ENTRIES:
            return word
    raise ScenarioError(f"no entry of a schedule: {dict(entry)!r:.80}")


# Small helpers


def reply_to(connection: Connection, op: str, ticket: int, deadline: float) -> Answer:
    """The answer to a request of the kit; raises AdapterFault when there is none in time."""
    answer = connection.poll(ticket, deadline)
    if answer is None:
        earlier = connection.unanswered()[:-1]
        also = f" (nor was {', '.join(earlier)} before it)" if earlier else ""
        raise AdapterFault(f"{op} was not answered within {deadline:g} s{also}", connection.log())
    return answer


def break_off(connection: Connection) -> None:
    """Whatever state the adapter is in after a fault, nobody has to deal with it."""
    connection.broken = True
    connection.close()


def value_of(op: str, answer: Answer) -> Any:
    """What an adapter returned; a rejection is its fault."""
    if answer.error is not None:
        raise AdapterFault(f"{op} was rejected with {': '.join(filter(None, answer.error))}")
    return answer.value


def _milliseconds(seconds: float) -> int:
    return round(seconds * _MILLISECONDS)
