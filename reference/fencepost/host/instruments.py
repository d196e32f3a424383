"""Traps: where a kill or a pause waits for an owner to come by."""

from dataclasses import dataclass
from typing import Literal

POINTS = ("now", "effect-start", "effect-end", "committed", "parked", "consumed", "settled")
"""The named points of an owner's way; all but `now` and `settled` go with the name of a step."""

Deed = Literal["kill", "pause"]


@dataclass(frozen=True)
class Trap:
    """A kill or a pause of the owner of one instance, at a point; it springs once."""

    deed: Deed
    instance: str
    point: str
    step: str | None


def parse_point(text: str) -> tuple[str, str | None]:
    """``effect-end:NAME`` and its like, as point and step name; ValueError for an unknown point."""
    point, _, step = text.partition(":")
    if point not in POINTS:
        raise ValueError(f"unknown point {point!r}: use one of {', '.join(POINTS)}")
    return point, step or None


class Traps:
    """The traps that are set and have not sprung."""

    def __init__(self) -> None:
        self.set: list[Trap] = []

    def arm(self, deed: Deed, instance: str, point: str, step: str | None) -> None:
        """Set a trap."""
        self.set.append(Trap(deed, instance, point, step))

    def armed(self, instance: str, point: str, step: str | None) -> bool:
        """Whether a trap waits at this point."""
        return any((each.instance, each.point, each.step) == (instance, point, step) for each in self.set)

    def spring(self, instance: str, point: str, step: str | None) -> Deed | None:
        """What the first trap at this point does; it is set no longer."""
        for index, each in enumerate(self.set):
            if (each.instance, each.point, each.step) == (instance, point, step):
                del self.set[index]
                return each.deed
        return None
