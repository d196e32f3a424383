"""What a running Host shows of itself: its states at one instant, and the moments that led there.

Both are read-only. States are the machine's own, immutable and shared; a `Sighting` is one moment of a
Host's life with its number, and with who held the instance after it. The moments are kept in a ring that is
bounded twice: by their number, and by the bytes of the documents inside of their actions. So whoever reads
late finds the newest, and sees from the numbers how many are gone.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.host.calls import Moment
from fencepost.machine.actions import Action
from fencepost.machine.state import Instance, Slot

KEPT_MOMENTS = 16_384
KEPT_BYTES = 1 << 25


@dataclass(frozen=True)
class Sighting:
    """A moment, counted from 1, and the tokens of the instance's owner (0: none) and unstopped contexts after
    it."""

    number: int
    moment: Moment
    owner: int
    contexts: tuple[int, ...]


@dataclass(frozen=True)
class Snapshot:
    """What a Host holds at an instant in milliseconds; `number` is that of the last moment behind it.

    `processes` has the process of each unstopped context, by instance and token.
    """

    at: int
    number: int
    instances: Mapping[str, Instance]
    processes: Mapping[tuple[str, int], int]
    closed: bool


class Trace:
    """The newest moments of one Host, the oldest first. Not thread-safe: its Host holds a lock."""

    def __init__(self, moments: int = KEPT_MOMENTS, bytes: int = KEPT_BYTES) -> None:
        self.last = 0
        self._moments, self._bytes = moments, bytes
        self._kept: deque[tuple[Sighting, int]] = deque()
        self._weight = 0

    def add(self, moment: Moment, slot: Slot) -> None:
        """Keep one more moment, with the slot that it led to."""
        self.last += 1
        held = slot if isinstance(slot, Instance) else None
        tokens = tuple(context.token for context in held.contexts) if held is not None else ()
        weight = _weight(moment.action)
        self._kept.append((Sighting(self.last, moment, held.owner if held else 0, tokens), weight))
        self._weight += weight
        while len(self._kept) > self._moments or self._weight > self._bytes:
            self._weight -= self._kept.popleft()[1]

    def after(self, number: int) -> tuple[Sighting, ...]:
        """Every kept moment with a larger number; there is a gap if the first one is not the next."""
        found: list[Sighting] = []
        for sighting, _ in reversed(self._kept):
            if sighting.number <= number:
                break
            found.append(sighting)
        return tuple(reversed(found))


def _weight(action: Action) -> int:
    """Bytes of the texts and documents inside an action, roughly."""
    weight, left = 0, list(vars(action).values())
    while left:
        value: Any = left.pop()
        if isinstance(value, bytes | str):
            weight += len(value)
        elif isinstance(value, Mapping):
            left.extend(value.keys())
            left.extend(value.values())
        elif isinstance(value, Iterable):
            left.extend(value)
    return weight
