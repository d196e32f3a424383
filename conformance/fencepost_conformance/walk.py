"""The stations of the walk through an adapter: the caller's calls, and each instrument.

A station is a scenario of its own, on a fresh Host. What it expects, an adapter can be told by its protocol
alone; the fine print of the Form is for the scenarios of `fencepost check`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Entry = Mapping[str, Any]

_GATE = {"do": "held", "effect": {"gate": "g", "then": {"value": {}}}}
_LONG = {"sleep": "held", "seconds": 3600}  # where there is no journal to hold an effect at a gate

PROGRAMS: Mapping[str, list[Entry]] = {
    "main": [{"return": {"n": 1}}],
    "newer": [{"return": {"n": 2}}],
    "waiting": [{"wait": "w", "type": "go", "timeoutSeconds": 3600}],
    "sleeping": [{"sleep": "s", "seconds": 60}, {"return": {"n": 1}}],
    "working": [{"mark": "m"}, _GATE, {"return": {"n": 1}}],
    "calling": [{"call": "terminate"}, {"return": {}}],
}

_SETTLE: Entry = {"settle": True}
_COMPLETE: Entry = {"status": "complete", "output": {"n": 1}}
_DONE: Entry = {"status": "i", "expect": _COMPLETE}


@dataclass(frozen=True)
class Station:
    """What is tried, for which instrument; `by_clock` where it comes to nothing without one."""

    name: str
    instrument: str
    schedule: tuple[Entry, ...]
    by_clock: bool = False
    versions: tuple[tuple[str, str], ...] = ()  # what "main" is, by Version; the first one is deployed

    def document(self, journal: bool) -> dict[str, Any]:
        """The scenario; what holds an owner is a gate where effects reach the journal."""
        programs = {**PROGRAMS, "held": [_GATE if journal else _LONG, {"return": {"n": 1}}]}
        calls = [entry.get("dropResponse", entry) for entry in self.schedule]
        document = {
            "title": f"The walk: {self.name}",
            "clauses": ["ABI-1"],
            "programs": {name: programs[name] for call in calls if (name := call.get("program"))},
            "schedule": [*self.schedule],
        }
        if self.versions:
            document["programs"] = {program: programs[program] for _, program in self.versions}
            document["versions"] = {version: {"main": program} for version, program in self.versions}
            document["deployed"] = self.versions[0][0]
        return document


def _create(program: str) -> Entry:
    return {"create": "i", "program": program}


STATIONS = (
    Station(
        "calls",
        "",
        (
            _create("main"),
            _SETTLE,
            {"get": "i"},
            _DONE,
            {"create": None, "program": "waiting", "as": "w"},
            _SETTLE,
            {"status": {"$": "w"}, "expect": {"status": ["queued", "running", "waiting"]}},
            {"sendEvent": {"$": "w"}, "type": "stay", "payload": {"a": 1}},
            {"terminate": {"$": "w"}},
            {"status": {"$": "w"}, "expect": {"status": "terminated"}},
            {"get": "nobody", "expect": {"error": "unknown_instance"}},
        ),
    ),
    Station(
        "clock",
        "clock",
        (
            _create("sleeping"),
            _SETTLE,
            {"status": "i", "expect": {"status": "sleeping"}},
            {"advance": 60},
            _SETTLE,
            _DONE,
        ),
    ),
    Station(
        "journal",
        "journal",
        (
            _create("working"),
            _SETTLE,
            {"runs": {"i": {"atLeast": 1}}},
            {"marks": {"m": {"atLeast": 1}}},
            {"effects": {"held": 1}},
            {"status": "i", "expect": {"status": "running"}},
            {"release": "g"},
            _SETTLE,
            _DONE,
        ),
    ),
    Station(
        "kill",
        "kill",
        (
            _create("held"),
            _SETTLE,
            {"kill": "i"},
            {"recover": True},
            {"effects": {"held": {"atLeast": 2}}},
            {"kill": "i", "at": "effect-end:held"},
            {"release": "g"},
            _SETTLE,
            {"recover": True},
            _DONE,
        ),
        by_clock=True,
    ),
    Station(
        "pause",
        "pause",
        (
            _create("held"),
            _SETTLE,
            {"pause": "i"},
            _SETTLE,
            {"resume": "i"},
            {"release": "g"},
            _SETTLE,
            {"recover": True},
            _DONE,
        ),
        by_clock=True,
    ),
    Station("stuck", "stuck", (_create("held"), _SETTLE, {"stuck": "i"}, {"unstuck": "i"}, {"status": "i"})),
    Station(
        "backend",
        "backend",
        (
            _create("waiting"),
            {"backend": "down"},
            {"status": "i", "expect": {"error": True}},
            {"backend": "up"},
            {"status": "i"},
        ),
    ),
    Station("restart", "restart", (_create("waiting"), _SETTLE, {"restart": True}, _SETTLE, {"get": "i"})),
    Station(
        "wakes",
        "wakes",
        (
            _create("sleeping"),
            _SETTLE,
            {"holdWakes": True},
            {"advance": 60},
            _SETTLE,
            {"status": "i", "expect": {"status": "sleeping"}},
            {"holdWakes": False},
            _SETTLE,
            _DONE,
        ),
        by_clock=True,
    ),
    Station(
        "responses",
        "responses",
        ({"dropResponse": _create("main")}, _SETTLE, {"get": "i"}, _DONE),
    ),
    Station(
        "versions",
        "versions",
        (
            {"deploy": {"v2": 10000}},
            _create("main"),
            _SETTLE,
            {"status": "i", "expect": {"status": "complete", "output": {"n": 2}}},
        ),
        versions=(("v1", "main"), ("v2", "newer")),
    ),
    Station(
        "resource",
        "resource",
        (
            {"resource": "GET", "on": "workflow", "as": "old"},
            {"observe": True},
            {"verify": "pending"},
            {"verify": "done"},
            {"unbind": True},
            {"deleteResource": True},
            {"recreateResource": True},
            _create("main"),
            _SETTLE,
            _DONE,
            {"unbind": True},
            {"bind": True},
            {"get": "i"},
        ),
    ),
    Station(
        "binding",
        "binding",
        (_create("calling"), _SETTLE, {"status": "i", "expect": {"status": "terminated"}}),
    ),
    Station(
        "history",
        "history",
        (
            _create("sleeping"),
            _SETTLE,
            {"history": "i", "expect": {"records": [], "steps": [{"step": "s", "finished": False}]}},
            {"advance": 60},
            _SETTLE,
            {"history": "i", "expect": {"records": [{"record": "sleep"}, {"record": "end"}]}},
        ),
        by_clock=True,
    ),
)
