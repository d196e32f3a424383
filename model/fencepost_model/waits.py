"""The universe of `Waits`: one instance, its inbox and its waits, under a clock that ticks in seconds.

The present instant is always 0: a tick moves every instant of the state one second nearer instead. `apply`
compares instants with one another only, so a state may be moved along the clock (a test holds that). What is
long past is held one second in the past, and what the state no longer looks at stands still: so there are
finitely many worlds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from fencepost.machine import Latitude, Rules, apply
from fencepost.machine.actions import EndLifetime, Purge, SendEvent, Wake
from fencepost.machine.records import FrozenMap, evolve
from fencepost.machine.state import MILLISECONDS, Instance, Step, Terminal
from fencepost_spec.limits import Limits

from fencepost_model import abstraction
from fencepost_model.bounds import Bounds
from fencepost_model.universe import Move, One, OneInstance, forgetful
from fencepost_model.values import State

ENDLESS = 99
"""The lifetime that no tick of the model shortens."""


class Waits(OneInstance):
    """One instance that runs wait and sleep steps, and callers that send it events."""

    module = "Waits"

    def __init__(self, bounds: Bounds, rules: Rules | None = None) -> None:
        limits = Limits(
            lifetime_seconds=bounds["Lifetime"],
            retention_seconds=bounds["Retention"],
            inbox_events=bounds["MaxInbox"],
            inbox_bytes=bounds["MaxBytes"],
        )
        super().__init__(bounds, rules or Rules(limits, Latitude(after_retention="forgotten")))
        self.sizes: dict[str, int] = dict(sorted(bounds["Size"].items()))
        self.maximum_events: int = bounds["MaxEvents"]
        self.endless = bounds["Lifetime"] == ENDLESS

    def moves(self, world: One) -> Iterator[Move[One]]:
        slot = world.slot
        yield from super().moves(world)
        if isinstance(slot, Instance):
            if (after := apply(slot, purge := Purge(0)).state) is not slot:
                yield Move("Purge", One(after), (purge,))
            if (after := self.later(slot)) != slot:
                yield Move("Tick", One(after, world.code))

    def callers(self, world: One) -> Iterator[Move[One]]:
        yield from super().callers(world)
        slot = world.slot
        assert isinstance(slot, Instance)
        if slot.accepted >= self.maximum_events:
            return
        payload = abstraction.document(abstraction.NUMBER, slot.accepted + 1)
        for type, size in self.sizes.items():
            if (after := apply(slot, send := SendEvent(0, type, payload, size)).state) is not slot:
                yield Move("SendEvent", One(after, world.code), (send,))

    def host(self, world: One) -> Iterator[Move[One]]:
        yield from super().host(world)
        slot = world.slot
        if (after := apply(slot, wake := Wake(0)).state) is not slot:
            yield Move("Wake", One(after, world.code), (wake,))
        if (after := apply(slot, over := EndLifetime(0)).state) is not slot:
            yield Move("EndLifetime", One(after, world.code), (over,))

    def may_lose(self, slot: Instance) -> bool:
        if not slot.live:
            return True
        ahead = sum(
            each.delay > 0 and ((step := slot.history.get(each.name)) is None or not step.finished)
            for each in self.program(slot)
        )
        return slot.token + 1 + ahead <= self.maximum_token

    def later(self, slot: Instance) -> Instance:
        """The slot one second later, as far as the bounds can tell."""
        if slot.live:
            ends_at = slot.ends_at if self.endless else max(slot.ends_at - MILLISECONDS, 0)
            return evolve(slot, ends_at=ends_at, history=_later(slot.history))
        past = -slot.rules.limits.retention_seconds * MILLISECONDS
        return evolve(
            slot,
            decision=_moved(slot.decision, past),
            terminal=_moved(slot.terminal, past),
            terminal_at=max(slot.terminal_at - MILLISECONDS, past) if slot.terminal else slot.terminal_at,
        )

    def settled(self, world: One) -> One:
        return super().settled(forgetful(world))

    def rest(self, slot: Instance) -> Instance:
        return evolve(super().rest(slot), token=0, ends_at=0)

    def image(self, world: One) -> State:
        return abstraction.waits(world.slot, 0)


def _moved(terminal: Terminal | None, past: int) -> Terminal | None:
    return None if terminal is None else evolve(terminal, at=max(terminal.at - MILLISECONDS, past))


@lru_cache(maxsize=1 << 14)
def _later(history: FrozenMap[str, Step]) -> FrozenMap[str, Step]:
    moved = history
    for name, step in history.items():
        if step.outcome is None and step.deadline is not None:
            moved = moved.put(name, step._replace(deadline=max(step.deadline - MILLISECONDS, -MILLISECONDS)))
    return moved
