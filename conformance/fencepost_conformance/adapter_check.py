"""The check of an adapter, before it is used to check a Host: do both sides keep to the protocol?

Every request of the kit and every answer of the adapter is held against the published schemas while a short
walk goes through the calls and through each instrument that the handshake declares. The walk asks of an
instrument what everybody who uses it has to rely on, and no more: a sleep ends once the clock was moved past
it, an effect reaches the journal, a killed owner's instance is taken up again.

What is found is a line with the side that was wrong: the *kit* sent what its own schema does not admit; the
*adapter* answered in a wrong shape, not at all, or broke down; the *Host* did not do what the instrument
promises.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fencepost_spec.misfits import shown
from fencepost_spec.schemas import problems

from .adapter import INSTRUMENT_OF, INSTRUMENTS, AdapterFault, Answer, Connection, Handshake
from .around import Around
from .results import Difference
from .run import Run, break_off, word_of
from .runner import greet
from .scenario import Scenario, ScenarioError
from .walk import STATIONS, Station

DEADLINE_SECONDS = 10.0
LOOK_SECONDS = 5.0  # that a Host with a clock of its own has to show what is expected
_PAUSE_SECONDS = 0.05
_MOST_BREAKDOWNS = 3
_OWN = frozenset({"journal", "release"})  # what the kit asks of its own end
_PREFIXES = ("the adapter's ", "the adapter ")

Side = Literal["kit", "adapter", "Host"]


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, and on which side."""

    side: Side
    text: str

    def __str__(self) -> str:
        """``side: text``."""
        return f"{self.side}: {self.text}"


class Checked(Around):
    """A connection whose messages are held against the schemas, both ways."""

    def __init__(self, inner: Connection, findings: list[Finding]) -> None:
        super().__init__(inner)
        self._findings = findings
        self._requests: dict[int, dict[str, Any]] = {}

    def send(self, op: str, **arguments: Any) -> int:
        """Look at the request, and send it on."""
        ticket = self.inner.send(op, **arguments)
        if op not in _OWN:
            request = {"op": op, "ticket": ticket, **arguments}
            self._requests[ticket] = request
            self._note("kit", op, problems("adapter-request", request))
        return ticket

    def poll(self, ticket: int, seconds: float) -> Answer | None:
        """The answer, once it has been looked at."""
        answer = self.inner.poll(ticket, seconds)
        request = self._requests.pop(ticket, None) if answer is not None else None
        if answer is not None and request is not None:
            exchange = {"request": request, "answer": _message(ticket, answer)}
            wrong = problems("adapter-exchange", exchange)
            self._note("adapter", request["op"], [each for each in wrong if each.startswith("answer")])
        return answer

    def _note(self, side: Side, op: str, wrong: list[str]) -> None:
        for each in wrong:
            finding = Finding(side, f"{op}: {each}")
            if finding not in self._findings:
                self._findings.append(finding)


def _message(ticket: int, answer: Answer) -> dict[str, Any]:
    if answer.error is None:
        return {"ticket": ticket, "ok": answer.value}
    return {"ticket": ticket, "error": dict(zip(("name", "message"), answer.error, strict=True))}


@dataclass
class Visit:
    """What was found at one station of the walk."""

    name: str
    findings: list[Finding] = field(default_factory=list)


def check(connect: Callable[[Callable[[Connection], Connection]], Connection]) -> Iterator[Visit | Handshake]:
    """Walk: first the handshake, then what was found at each station. `connect` takes what to put around."""
    findings: list[Finding] = []
    live: Connection | None = None
    breakdowns = 0

    def connected() -> Connection:
        return connect(lambda bare: Checked(bare, findings))

    try:
        handshake = None
        try:
            live = connected()
            handshake = greet(live, DEADLINE_SECONDS)
        except AdapterFault as fault:
            _explain(findings, fault, live is None)
        yield Visit("handshake", list(findings))
        if handshake is None:
            return
        yield handshake
        for station in STATIONS:
            if station.instrument and station.instrument not in handshake.instruments:
                continue
            findings.clear()
            try:
                live = connected() if live is None else live
                _visit(live, greet(live, DEADLINE_SECONDS), station, findings)
            except AdapterFault as fault:
                _explain(findings, fault, live is None or live.broken)
                breakdowns += 1
                if live is not None:
                    break_off(live)
                live = None
            yield Visit(station.name, list(findings))
            if breakdowns == _MOST_BREAKDOWNS:
                return
    finally:
        if live is not None:
            live.close()


def _explain(findings: list[Finding], fault: AdapterFault, broken: bool) -> None:
    """The adapter's fault, unless it is what the schema has said already."""
    if broken or not findings:
        text = str(fault)
        for prefix in _PREFIXES:
            text = text.removeprefix(prefix)
        last = fault.log.splitlines()[-1:] if fault.log else []
        findings.append(Finding("adapter", " ".join([text, *(f"({line.strip()})" for line in last)])))


def _visit(connection: Connection, handshake: Handshake, station: Station, findings: list[Finding]) -> None:
    """Play a station's scenario, without what the Host does not offer; raises AdapterFault."""
    document = station.document("journal" in handshake.instruments)
    entries = list(_playable(document["schedule"], station, handshake))
    scenario = Scenario(f"walk/{station.name}", {**document, "schedule": entries})
    run = Run(connection, handshake, scenario, DEADLINE_SECONDS)
    run.begin()
    try:
        for entry in entries:
            _enter(run, entry, "clock" in handshake.instruments)
        unsprung = run.end()
    except ScenarioError as error:
        raise AdapterFault(str(error)) from error
    finally:
        findings += [Finding("Host", _told(entries[_index(each.at)], each)) for each in run.differences]
    findings += [Finding("Host", f"a trap never sprung: {each}") for each in unsprung]


def _playable(
    schedule: list[Mapping[str, Any]], station: Station, handshake: Handshake
) -> Iterator[Mapping[str, Any]]:
    """The entries for which there are instruments; of a station that turns on time, only its own words."""
    timeless = station.by_clock and "clock" not in handshake.instruments
    for entry in schedule:
        instrument = INSTRUMENT_OF.get(word_of(entry))
        if instrument is not None and instrument not in handshake.instruments:
            continue
        own = instrument == station.instrument and "at" not in entry
        if own or "create" in entry or not timeless:
            yield entry


def _enter(run: Run, entry: Mapping[str, Any], has_clock: bool) -> None:
    """Play an entry; where time is the Host's own, look again until what is expected is there."""
    limit = time.monotonic() + (0.0 if has_clock else LOOK_SECONDS)
    known = len(run.differences)
    run.enter(entry)
    while len(run.differences) > known and time.monotonic() < limit and _only_looks(entry):
        del run.differences[known:]
        run.index -= 1
        time.sleep(_PAUSE_SECONDS)
        run.enter(entry)


def _only_looks(entry: Mapping[str, Any]) -> bool:
    return word_of(entry) in ("get", "status", "effects", "marks", "runs")


def _index(at: str) -> int:
    return int(at.removeprefix("schedule[").removesuffix("]"))


def _told(entry: Mapping[str, Any], difference: Difference) -> str:
    word = word_of(entry)
    entry_text = f"{word} {entry[word]}" if isinstance(entry[word], str) else word
    if "expected" in difference.message:
        return f"{entry_text}: {difference.message}"
    expected, seen = shown(difference.expected), shown(difference.seen)
    return f"{entry_text}: {difference.message}: expected {expected}, seen {seen}"


def not_offered(handshake: Handshake) -> list[str]:
    """The instruments that the walk had to leave out."""
    return [name for name in INSTRUMENTS if name not in handshake.instruments]
