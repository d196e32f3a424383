"""Runs one scenario on one Host, entry by entry, and says what was seen.

Every entry is looked up by its word in a table. A failed expectation is noted with the clause that it
blames, and the scenario goes on, so that all differences are collected; an adapter's fault ends it. A
failed check beats an errored one.

**Answers.** A caller's call that the Host cannot answer at once may need the Host to be let run: it is
settled, once, and then the call must have ended. Calls that are to stay in flight are begun with `start`.

**Outcomes.** *unmeasured*: the Host lacks an instrument that an entry needs, and nothing was run.
*errored*: the adapter broke down, or a trap of a directed scenario never sprung, so that the scenario did
not show what it is for.
"""

import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import calls
from .adapter import INSTRUMENT_OF, PROTOCOL, AdapterFault, Answer, Connection, Handshake, parse_handshake
from .expectations import alternatives, bare, judge, shown, within
from .management import Management
from .probe.values import build, interpolate
from .results import CheckResult, Difference, Outcome
from .scenario import Scenario, ScenarioError

DEADLINE_SECONDS = 60.0  # of one request, in real time
_MILLISECONDS = 1000
_PAST_LEASE_SECONDS = 1  # a Host's clock may be as coarse as a second (TIM-1)

Entry = Mapping[str, Any]


def run_scenario(
    connection: Connection, scenario: Scenario, *, generated: bool = False, deadline: float = DEADLINE_SECONDS
) -> CheckResult:
    """Run a scenario; a fault of the adapter makes it errored, and marks the connection as broken."""
    began = time.perf_counter()
    try:
        handshake = greet(connection, deadline)
    except AdapterFault as fault:
        return _result(scenario, "errored", detail=_detail(fault), seconds=time.perf_counter() - began)
    missing = missing_instruments(scenario, handshake)
    if missing:
        return _result(scenario, "unmeasured", missing=missing)
    run = Run(connection, handshake, scenario, deadline)
    detail = ""
    try:
        unsprung = run.play()
        if unsprung and not generated:
            detail = f"a trap never sprung: {', '.join(map(str, unsprung))}"
    except AdapterFault as fault:
        detail = _detail(fault)
        _break(connection)
    except ScenarioError as error:
        detail = str(error)
        run.give_up()
    outcome: Outcome = "failed" if run.differences else "errored" if detail else "passed"
    return _result(
        scenario,
        outcome,
        differences=tuple(run.differences),
        detail=detail,
        choices=run.choices,
        seconds=time.perf_counter() - began,
    )


def run_many(
    connect: Callable[[], Connection],
    scenarios: Iterable[Scenario],
    progress: Callable[[CheckResult], None] = lambda result: None,
    *,
    generated: bool = False,
    deadline: float = DEADLINE_SECONDS,
) -> list[CheckResult]:
    """Run scenarios on one connection, made anew after a fault; raises AdapterFault if the first fails."""
    first = connect()
    connection: Connection | None = first
    results: list[CheckResult] = []
    try:
        greet(first, deadline)
        for scenario in scenarios:
            try:
                connection = connect() if connection is None else connection
                result = run_scenario(connection, scenario, generated=generated, deadline=deadline)
            except AdapterFault as fault:
                result = _result(scenario, "errored", detail=_detail(fault))
            if connection is not None and connection.broken:
                connection.close()
                connection = None
            results.append(result)
            progress(result)
    finally:
        if connection is not None:
            connection.close()
    return results


def greet(connection: Connection, deadline: float = DEADLINE_SECONDS) -> Handshake:
    """The handshake of a connection, made once; raises AdapterFault."""
    if connection.greeting is None:
        try:
            ticket = connection.send("handshake", hello={"protocol": PROTOCOL, "kit": "fencepost"})
            connection.greeting = parse_handshake(
                _value("handshake", _reply(connection, "handshake", ticket, deadline))
            )
        except AdapterFault:
            _break(connection)
            raise
    return connection.greeting


def missing_instruments(scenario: Scenario, handshake: Handshake) -> tuple[str, ...]:
    """The instruments that a scenario needs and the Host does not offer."""
    return tuple(sorted(needed_instruments(scenario) - handshake.instruments))


def needed_instruments(scenario: Scenario) -> set[str]:
    """The instruments that the entries and programs of a scenario need."""
    return {INSTRUMENT_OF[word] for word in scenario.words if word in INSTRUMENT_OF}


class Run:
    """One scenario being run."""

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
        self.choices: dict[str, str] = {}
        self.management = Management(self)
        self.at = ""
        self._flying: dict[str, tuple[Entry, int]] = {}
        self._landed: dict[str, Answer] = {}

    def play(self) -> list[Any]:
        """Run every entry, and return the traps that never sprung; raises AdapterFault or ScenarioError."""
        scenario = self.scenario
        self.ask(
            "begin",
            token=self.token,
            versions=list(scenario.versions),
            deployed=dict(scenario.deployed),
            uses=sorted(needed_instruments(scenario)),
        )
        for index, entry in enumerate(scenario.schedule):
            self.at = f"schedule[{index}]"
            ENTRIES[word_of(entry)](self, entry)
        ended = self.ask("end")
        return list(ended.get("unsprung", ())) if isinstance(ended, dict) else []

    def give_up(self) -> None:
        """End a scenario that cannot go on, for the sake of the next one."""
        try:
            self.ask("end")
        except AdapterFault:
            _break(self.connection)

    # Requests

    def ask(self, op: str, **arguments: Any) -> Any:
        """Ask something of the adapter itself; a rejection or no answer is its fault."""
        return _value(op, _reply(self.connection, op, self.connection.send(op, **arguments), self.deadline))

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

    def differ(self, entry: Entry, expected: Any, seen: Any, message: str, clause: str | None = None) -> None:
        """Note a difference; it blames `clause`, the entry's, its expectation's, or the scenario's first."""
        self.differences.append(Difference(clause or self._blamed(entry), self.at, expected, seen, message))

    def _blamed(self, entry: Entry) -> str:
        named = (form.get("clause") for form in alternatives(entry.get("expect") or {}))
        return str(entry.get("clause") or next(filter(None, named), self.scenario.clauses[0]))

    def hold(self, entry: Entry, answer: Answer | None, expect: Any, match: Any = None) -> bool:
        """Hold an answer against an expectation: note the choice that was seen, or the difference."""
        if answer is None:
            self.differ(entry, bare(expect), None, "the call has not ended, although the Host was let run")
            return False
        judgement = judge(expect, answer, self.variables, match)
        if judgement.held is None:
            self.differ(entry, bare(expect), shown(answer), judgement.message)
            return False
        if "choice" in judgement.held:
            self.choices[judgement.held.get("of", self.scenario.clauses[0])] = judgement.held["choice"]
        return True

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
            return self.management.conclude(call, answer, entry)
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
        self._flying[entry["as"]] = (entry["start"], self.connection.send(op, **arguments))

    def enter_await(self, entry: Entry) -> None:
        self.settle()
        call, ticket = self._flight(entry["await"])
        answer = self._landed.pop(entry["await"], None) or self.connection.poll(
            ticket, self.connection.patience
        )
        answer = self._checked(calls.OPS[word_of(call)], answer)
        if answer is not None:
            del self._flying[entry["await"]]
        self.conclude(call, answer, entry)

    def enter_pending(self, entry: Entry) -> None:
        name = entry["pending"]
        _, ticket = self._flight(name)
        answer = self._landed.get(name) or self.connection.poll(ticket, self.connection.grace)
        if answer is not None:
            self._landed[name] = answer
            self.differ(
                entry, {"pending": name}, shown(answer), f"{name} has ended, it was to be in flight still"
            )

    def _flight(self, name: str) -> tuple[Entry, int]:
        if name not in self._flying:
            raise ScenarioError(
                f'{self.scenario.id}: {self.at}: no call was begun as {name!r}; add a "start"'
            )
        return self._flying[name]

    def enter_drop_response(self, entry: Entry) -> None:
        op, arguments = self.request(entry["dropResponse"])
        self.ask("drop_response", call=op, arguments=arguments)

    # Instruments

    def enter_advance(self, entry: Entry) -> None:
        self.ask("advance", milliseconds=_milliseconds(entry["advance"]))

    def enter_recover(self, entry: Entry) -> None:
        past = self.handshake.lease_seconds + _PAST_LEASE_SECONDS
        self.ask("advance", milliseconds=_milliseconds(past))
        self.ask("settle")

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
        counted = self.ask("journal")[word]
        for name, expected in entry[word].items():
            key = interpolate(name, self.variables)
            seen = counted.get(key, 0)
            if not within(expected, seen):
                self.differ(
                    entry, {name: expected}, {name: seen}, f"{word} of {key}: {seen}, expected {expected}"
                )


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
    "settle": lambda run, entry: run.ask("settle"),
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
}


def word_of(entry: Entry) -> str:
    """The word that says what an entry is; raises ScenarioError."""
    for word in entry:
        if word in ENTRIES:
            return word
    raise ScenarioError(f"no entry of a schedule: {dict(entry)!r:.80}")


# Small helpers


def _reply(connection: Connection, op: str, ticket: int, deadline: float) -> Answer:
    answer = connection.poll(ticket, deadline)
    if answer is None:
        raise AdapterFault(f"{op} was not answered within {deadline:g} s", connection.log())
    return answer


def _break(connection: Connection) -> None:
    """Whatever state the adapter is in after a fault, nobody has to deal with it."""
    connection.broken = True
    connection.close()


def _value(op: str, answer: Answer) -> Any:
    if answer.error is not None:
        raise AdapterFault(f"{op} was rejected with {': '.join(filter(None, answer.error))}")
    return answer.value


def _milliseconds(seconds: float) -> int:
    return round(seconds * _MILLISECONDS)


def _detail(fault: AdapterFault) -> str:
    return f"{fault}\n{fault.log}".strip()


def _result(scenario: Scenario, outcome: Outcome, **rest: Any) -> CheckResult:
    return CheckResult(scenario.id, scenario.title, scenario.clauses, outcome, **rest)
