"""How a Host is plugged into the kit: the adapter that you write, and the connection that the kit makes of
it.

**In a hurry?** Write a class with `handshake`, `begin`, `end` and the five caller's calls, plain or
``async``:

    class MyAdapter:
        def handshake(self, hello): return {
            "protocol": PROTOCOL, "host": {"name": "mine", "version": "1"},
            "instruments": [], "leaseSeconds": 30}
        def begin(self, setup): ...          # a fresh Host, class `Probe` deployed and bound
        def end(self): ...                   # take it down again
        def create(self, id, params): ...    # -> the id; ABSENT stands for an argument that was not given
        def get(self, id): ...
        def status(self, id): ...            # -> {"status": ..., "output"?: ..., "error"?: {"reason": ...}}
        def send_event(self, id, type, payload): ...
        def terminate(self, id): ...

and run ``fencepost check python:my_module:MyAdapter``. A rejection of the Host is ``raise HostError(name,
message)``; any other exception is your adapter's own fault, and is never counted against the Host. Then
name instruments in the handshake, one by one, and add their methods: what you do not offer is reported as
unmeasured, not as failed. `INSTRUMENTS` says what each does.

**Who runs the workflow code.** A Host in Python takes each Version's loader from ``setup.versions``: call
it once for each context and take ``exports["Probe"]``. The `env` of a context is ``{"VERSION": name,
"JOURNAL": setup.journal}``, and ``"PROBE"``, the caller's binding, where ``setup.binding`` asks for it. Any
other Host loads the same probe as an ES module and reports to the journal by its own way.

**Time.** Only `advance` moves the clock, and nothing may run during it. `settle` lets the Host run until
only time or input could change anything. A call that has to wait for either returns a
``concurrent.futures.Future`` (or is ``async``), and must not block.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from .journal import Journal

PROTOCOL = "fencepost.adapter@1"

Loader = Callable[[], Mapping[str, Any]]


class Absent:
    """An argument that was not given at all."""

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT = Absent()


class HostError(Exception):
    """A rejection by the Host: the `name` of the Error, and its message."""

    def __init__(self, name: str, message: str = "") -> None:
        super().__init__(f"{name}: {message}" if message else name)
        self.name = name
        self.message = message


class AdapterFault(Exception):
    """The adapter, not the Host, broke down; one line that says how, and what it logged last."""

    def __init__(self, text: str, log: str = "") -> None:
        super().__init__(" ".join(text.split()))
        self.log = log


@dataclass(frozen=True)
class Setup:
    """What one scenario needs: `deployed` are weights, `token` tells this scenario's names apart.

    `uses` names the instruments that it will use, so that a Host need not set up the others.
    """

    token: str
    versions: Mapping[str, Loader]
    deployed: Mapping[str, int]
    journal: Journal
    uses: frozenset[str] = frozenset()

    @property
    def binding(self) -> bool:
        """Whether an instance will call its own binding, so that `env` must have it as ``PROBE``."""
        return "binding" in self.uses


@dataclass(frozen=True)
class Call:
    """A call whose answer is to be lost: `op` is the adapter's method, `arguments` are live values."""

    op: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def perform(self, adapter: Any) -> Any:
        """Make the call on an adapter, and return what it returns."""
        return getattr(adapter, self.op)(**self.arguments)


class HostAdapter(Protocol):
    """What every adapter has; the methods of instruments are listed in `INSTRUMENTS`."""

    def handshake(self, hello: Mapping[str, Any]) -> Any:
        """Protocol version, the Host's name and version, the instruments, and the lease bound in seconds."""

    def begin(self, setup: Setup) -> Any:
        """A fresh Host for one scenario: class `Probe` deployed with the given weights, and bound."""

    def end(self) -> Any:
        """Take the Host down; may return ``{"unsprung": [text, ...]}``, the traps that never sprung."""

    def create(self, id: Any, params: Any) -> Any:
        """Create an instance and return its id, the Host's own where `id` is ABSENT."""

    def get(self, id: Any) -> Any:
        """Look an instance up."""

    def status(self, id: Any) -> Any:
        """The status answer, as a dict."""

    def send_event(self, id: Any, type: Any, payload: Any) -> Any:
        """Send an event; `payload` may be ABSENT."""

    def terminate(self, id: Any) -> Any:
        """Terminate, and return once the Host says success."""


@dataclass(frozen=True)
class Instrument:
    """Something that a Host lets the kit do: the adapter's methods, and the words that need them."""

    methods: tuple[str, ...]
    words: tuple[str, ...]
    meaning: str


INSTRUMENTS: Mapping[str, Instrument] = {
    "clock": Instrument(
        ("advance(milliseconds)", "settle()"),
        ("advance", "settle", "recover", "await"),
        "a clock that only `advance` moves, and a way to let the Host run until only time or input is left",
    ),
    "journal": Instrument(
        (),
        ("effects", "marks", "runs", "release", "gate", "attempts", "ticking"),
        "effects reach the kit's journal, which counts them and holds them at gates",
    ),
    "kill": Instrument(("kill(id, at)",), ("kill",), "kill an instance's owner, now or at a named point"),
    "pause": Instrument(
        ("pause(id, at)", "resume(id)"), ("pause", "resume"), "freeze an owner, and let it go on"
    ),
    "stuck": Instrument(
        ("stuck(id)", "unstuck(id)"),
        ("stuck", "unstuck"),
        "make an owner's stop impossible to prove, for a while",
    ),
    "backend": Instrument(("backend(up)",), ("backend",), "take away the store behind the caller's calls"),
    "restart": Instrument(
        ("restart()",), ("restart",), "stop the Host's process hard, and start it on the same store"
    ),
    "wakes": Instrument(
        ("hold_wakes(on)",), ("holdWakes",), "let deadlines pass without their being processed"
    ),
    "responses": Instrument(
        ("drop_response(call)",), ("dropResponse",), "perform a call, and lose its answer"
    ),
    "versions": Instrument(("deploy(weights)",), ("deploy",), "change the weights of Versions"),
    "resource": Instrument(
        ("resource(request)", "resources()", "unbind()", "bind()", "recreate_resource()", "verify(state)"),
        (
            "resource",
            "verify",
            "observe",
            "ready",
            "counts",
            "unbind",
            "bind",
            "deleteResource",
            "recreateResource",
        ),
        "management calls on the Workflow resource and on what it leans on",
    ),
    "binding": Instrument((), ("call",), "an instance can call its own binding"),
    "history": Instrument(
        ("history(id)",),
        ("history",),
        "the typed history of a run, for the suite of guarantees alone",
    ),
}

INSTRUMENT_OF: Mapping[str, str] = {
    word: name for name, instrument in INSTRUMENTS.items() for word in instrument.words
}


@dataclass(frozen=True)
class Handshake:
    """What an adapter said of its Host; `lease_seconds` bounds how long a lost owner goes unnoticed.

    `advance_seconds` bounds how far its clock can be moved; nothing for one that can be moved at will.
    """

    name: str
    version: str
    instruments: frozenset[str]
    lease_seconds: float
    advance_seconds: float | None = None


class Answer(NamedTuple):
    """How a request ended: with a value, or with an error of the Host (name and message)."""

    value: Any = None
    error: tuple[str, str] | None = None


class Connection(Protocol):
    """The kit's end of an adapter.

    `patience`: seconds that a call's answer may take before the Host is let run; `grace`: seconds in which
    a call must not end that is to be in flight; `greeting`: the handshake, once made; `broken`: no use
    after an adapter's fault.
    """

    patience: float
    grace: float
    greeting: Handshake | None
    broken: bool

    def send(self, op: str, **arguments: Any) -> int:
        """Begin a request; documents among the arguments are VALUEs. Raises AdapterFault."""

    def poll(self, ticket: int, seconds: float) -> Answer | None:
        """The answer, or None when there is none within `seconds`. Raises AdapterFault."""

    def unanswered(self) -> list[str]:
        """The ops of this scenario that wait for an answer, in the order in which they were asked."""

    def log(self) -> str:
        """The last that the adapter logged."""

    def lines(self) -> list[str]:
        """The last lines that the adapter has logged since the scenario began."""

    def close(self) -> None:
        """End the adapter, whatever it is doing; may be called twice."""


def parse_handshake(answer: Any) -> Handshake:
    """A checked handshake; raises AdapterFault with what is wrong and what is wanted."""
    if not isinstance(answer, dict):
        raise AdapterFault(f"handshake returned {_kind(answer)}; return protocol, host and instruments")
    if answer.get("protocol") != PROTOCOL:
        raise AdapterFault(f"handshake: protocol is {answer.get('protocol')!r}; this kit speaks {PROTOCOL!r}")
    host = answer.get("host")
    if not isinstance(host, dict) or not all(isinstance(host.get(key), str) for key in ("name", "version")):
        raise AdapterFault('handshake: give "host": {"name": text, "version": text}')
    instruments = answer.get("instruments", [])
    unknown = (
        [each for each in instruments if each not in INSTRUMENTS] if isinstance(instruments, list) else "?"
    )
    if unknown:
        raise AdapterFault(
            f"handshake: instruments {unknown} are unknown; give a list of {', '.join(INSTRUMENTS)}"
        )
    lease = answer.get("leaseSeconds", 0)
    if isinstance(lease, bool) or not isinstance(lease, int | float) or lease < 0:
        raise AdapterFault('handshake: "leaseSeconds" is the bound on a lease in seconds, zero or more')
    advance = answer.get("advanceSeconds")
    if isinstance(advance, bool) or not (advance is None or isinstance(advance, int | float)):
        raise AdapterFault('handshake: "advanceSeconds" is the most that the clock can be moved, in seconds')
    return Handshake(host["name"], host["version"], frozenset(instruments), lease, advance)


def _kind(value: Any) -> str:
    return f"{type(value).__name__} {value!r:.60}"
