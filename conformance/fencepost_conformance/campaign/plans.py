"""What a campaign draws from its seed: programs, what callers do about them, and what happens to processes.

Each thing has chance of its own, named after what it is for, so that one campaign's instance 17 is another's
with the same seed, however fast either of them went.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Operation = dict[str, Any]

POINTS = (
    "claimed", "launched", "begun", "registered", "consumed", "effect-end", "committed", "parked", "settled",
    "decided", "stopped", "saying", "said", "woken", "renewed", "uncommitted",
)  # fmt: skip
"""Where a worker can be killed or stopped on its way; `worker` says what each is."""

RANDOM = "random instant"
IN_A_CALL = "API in a call"
API = "API at a random instant"

TYPES = ("go", "stop")
LAST = "last"
"""The effect before an instance is parked for good."""

PARKED_SECONDS = 86_400
_NAMED_SHARE = 0.7
_PAUSE_SHARE = 0.6
_API_CALL_SHARE = 0.5


def chance(seed: int, *of: Any) -> random.Random:
    """Chance of its own for one thing."""
    return random.Random(f"{seed}:{':'.join(map(str, of))}")


class Move(NamedTuple):
    """What callers do to an instance, so many seconds after its creation; `several` of them at once."""

    at: float
    word: str
    type: str = ""
    several: int = 1


@dataclass(frozen=True)
class Plan:
    """One instance: its program, and what callers do. `parks`: it ends waiting."""

    id: str
    program: tuple[Operation, ...]
    moves: tuple[Move, ...]
    parks: bool


class Deed(NamedTuple):
    """What happens to a worker: when it comes by a point for the `passing`th time, or after `seconds`."""

    what: str  # kill or pause
    point: str = RANDOM
    passing: int = 1
    seconds: float = 0.0


def plan(seed: int, number: int) -> Plan:
    """What the instance of this number is to go through."""
    return _Author(chance(seed, "instance", number), f"i{number:04}").write()


def deeds(seed: int, slot: int, life: int, lease: float, pauses: bool) -> tuple[Deed, ...]:
    """What happens to one worker process, the last of it a kill."""
    drawn = chance(seed, "worker", slot, life)
    found = [_deed(drawn, "pause", lease)] if pauses and drawn.random() < _PAUSE_SHARE else []
    return (*found, _deed(drawn, "kill", lease))


def _deed(drawn: random.Random, what: str, lease: float) -> Deed:
    if drawn.random() < _NAMED_SHARE:
        point = drawn.choice(POINTS)
        return Deed(what, point, drawn.choice((1, 1, 1, 2, 2, 3, 5)), seconds=5.0 * lease)
    return Deed(what, seconds=drawn.uniform(0.0, 1.2 * lease))


def pause_seconds(seed: int, slot: int, life: int, lease: float) -> float:
    """How long a paused worker stands still: past its lease, and sometimes past two."""
    return chance(seed, "pause", slot, life).uniform(1.1, 3.5) * lease


def rest_seconds(seed: int, slot: int, life: int, lease: float) -> float:
    """How long nobody takes a dead process's place: mostly at once, sometimes until leases have run out."""
    drawn = chance(seed, "rest", slot, life)
    return drawn.uniform(0.5, 2.0) * lease if drawn.random() < 0.15 else 0.0


def api_deed(seed: int, life: int) -> Deed:
    """When the API process is killed."""
    drawn = chance(seed, "api", life)
    if drawn.random() < _API_CALL_SHARE:
        return Deed("kill", IN_A_CALL, seconds=drawn.uniform(0.0, 0.03))
    return Deed("kill", API, seconds=drawn.uniform(0.2, 4.0))


def effect_seconds(drawn: random.Random) -> float:
    """How long an effect takes."""
    return drawn.uniform(0.4, 1.2) if drawn.random() < 0.1 else drawn.uniform(0.0, 0.08)


class _Author:
    """Writes one plan."""

    def __init__(self, drawn: random.Random, id: str) -> None:
        self._drawn, self._id = drawn, id
        self._kept: list[str] = []
        self._moves: list[Move] = []
        self._at = 0.0  # about when the program comes by, without crashes

    def write(self) -> Plan:
        drawn = self._drawn
        phrases = [drawn.choice(_PHRASES) for _ in range(drawn.randint(2, 4))]
        body = [each for phrase in phrases for each in phrase(self, f"s{len(self._kept) + 1}")]
        parks = drawn.random() < 0.12
        end: list[Operation] = [{"return": {name: {"$": f"r{name}"} for name in self._kept}}]
        if parks:
            parked = {"wait": "parked", "type": "never", "timeoutSeconds": PARKED_SECONDS}
            end = [{"do": LAST, "effect": {"value": {}}}, parked]
        elif drawn.random() < 0.08:
            end = [{"throw": "the end"}]
        if drawn.random() < 0.2:
            self._moves.append(
                Move(drawn.uniform(0.0, self._at + 1.0), "terminate", several=drawn.choice((1, 1, 2)))
            )
        return Plan(self._id, (*body, *end), tuple(sorted(self._moves)), parks)

    def _steps(self, name: str, *operations: Operation) -> list[Operation]:
        self._kept.append(name)
        return [{"set": f"r{name}", "to": {}}, *operations]

    def effect(self, name: str) -> list[Operation]:
        """An effect whose executions can be told apart."""
        return self._steps(name, {"do": name, "effect": {"attempts": _VALUES}, "as": f"r{name}"})

    def retried(self, name: str) -> list[Operation]:
        """An effect that fails at first."""
        drawn = self._drawn
        failures = drawn.randint(1, 2)
        policy = {"maxAttempts": 5, "initialDelaySeconds": drawn.choice((0, 0, 1)), "backoff": "constant"}
        effect = {"attempts": [{"throw": "again"}] * failures + _VALUES[failures:]}
        self._at += policy["initialDelaySeconds"] * failures  # type: ignore[operator]
        return self._steps(name, {"do": name, "effect": effect, "retry": policy, "as": f"r{name}"})

    def failing(self, name: str) -> list[Operation]:
        """An effect that fails for good, and is caught."""
        policy = {"maxAttempts": 2, "initialDelaySeconds": 0}
        step = {"do": name, "effect": {"throw": "no"}, "retry": policy, "catch": f"e{name}"}
        return self._steps(name, step)

    def sleep(self, name: str) -> list[Operation]:
        """A short sleep."""
        seconds = self._drawn.choice((0, 1, 1, 2))
        self._at += seconds
        return self._steps(name, {"sleep": name, "seconds": seconds})

    def wait(self, name: str) -> list[Operation]:
        """A wait, and mostly events for it: before, in time, about its deadline, too late."""
        drawn = self._drawn
        type, seconds = drawn.choice(TYPES), drawn.choice((1, 2, 3))
        if drawn.random() < 0.8:
            for _ in range(drawn.choice((1, 1, 2))):
                at = max(0.0, self._at + drawn.uniform(-1.0, seconds + 0.5))
                self._moves.append(Move(at, "sendEvent", type, drawn.choice((1, 1, 1, 1, 2))))
        self._at += seconds / 2
        step = {"wait": name, "type": type, "timeoutSeconds": seconds, "as": f"r{name}", "catch": f"e{name}"}
        return self._steps(name, step)


_VALUES: list[Mapping[str, Any]] = [{"value": {"execution": number}} for number in range(1, 9)]

_PHRASES: tuple[Callable[[_Author, str], list[Operation]], ...] = (
    _Author.effect, _Author.effect, _Author.retried, _Author.failing,
    _Author.sleep, _Author.wait, _Author.wait,
)  # fmt: skip
