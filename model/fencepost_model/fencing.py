"""The universe of `Fencing`: one instance, its owners and every way to lose them; no time, no events.

A deadline that is set may have passed whenever `Wake` looks: all else happens at instant 0, and a wake
long after.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.machine import Rules, apply
from fencepost.machine.actions import Wake
from fencepost.machine.records import evolve
from fencepost.machine.state import MILLISECONDS, Instance

from fencepost_model import abstraction
from fencepost_model.bounds import Bounds
from fencepost_model.universe import Move, One, OneInstance
from fencepost_model.values import State

LATER = 3_600 * MILLISECONDS
"""Past every deadline of a bounded program, and long before a lease ends."""


class Fencing(OneInstance):
    """One instance that runs do and sleep steps."""

    module = "Fencing"

    def __init__(self, bounds: Bounds, rules: Rules | None = None) -> None:
        super().__init__(bounds, rules or Rules())

    def host(self, world: One) -> Iterator[Move[One]]:
        yield from super().host(world)
        if (after := apply(world.slot, wake := Wake(LATER)).state) is not world.slot:
            yield Move("Wake", One(after, world.code), (wake,))

    def may_lose(self, slot: Instance) -> bool:
        claims = 1
        unfinished = None
        for each in self.program(slot):
            step = slot.history.get(each.name)
            if step is None or not step.finished:
                unfinished = unfinished or step
                claims += each.attempts - 1 if each.kind == "do" else each.delay
        failures = unfinished.failures if unfinished is not None and slot.live else 0
        return slot.token + claims - failures <= self.maximum_token

    def rest(self, slot: Instance) -> Instance:
        rest = super().rest(slot)
        return rest if slot.terminal is None else evolve(rest, token=0)

    def image(self, world: One) -> State:
        return abstraction.fencing(world.slot)
