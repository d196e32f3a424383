"""What a schedule says about the world: the clock, the gates, what is held back, what is broken."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost.machine import Rules

from .latitudes import Choices, latitude_of


@dataclass
class World:
    """Everything that all ids share; instants and `lease` in milliseconds, `versions` those with a weight.

    Under a clock that the kit holds, it is `clock` for everybody. Under a real one the instant is only
    framed: it may be `clock`, or as late as `clock + slack`. What waits for a deadline is taken to happen at
    the latest, what fixes one at either. So nothing late is ever refused, and nothing early admitted.
    `stamp` counts the changes after which something else may be possible.

    Where `losses` are to be expected, an owner may be lost at any moment, and its effect be begun once more;
    so many of the lost may stand beside an owner, not proven stopped. What the journal has counted when it is
    read next is then a `ceiling` of what can have begun until then.
    """

    lease: int
    versions: tuple[str, ...]
    exact: bool = True
    whole_seconds: bool = False
    stance: Mapping[str, str] = field(default_factory=dict)
    losses: int | None = None
    ceiling: Mapping[str, int] | None = None
    clock: int = 0
    slack: int = 0
    gates: set[str] = field(default_factory=set)
    wakes_held: bool = False
    backend_up: bool = True
    closed: bool = False
    stamp: int = 0
    choices: Choices = field(default_factory=Choices)

    def __post_init__(self) -> None:
        self.rules = Rules(latitude=latitude_of(self.choices))

    @property
    def now(self) -> int:
        """The earliest that the instant may be, as the Host reads it (TIM-1)."""
        return self._read(self.clock)

    @property
    def late(self) -> int:
        """The latest that the instant may be, as the Host reads it (TIM-1)."""
        return self._read(self.clock + self.slack)

    def beyond(self, effects: Mapping[str, int]) -> bool:
        """Whether more has begun than the journal knows of."""
        ceiling = self.ceiling
        return ceiling is not None and any(count > ceiling.get(name, 0) for name, count in effects.items())

    def clock_at(self, instant: int) -> int:
        """What the clock shows when the Host first reads this instant or a later one."""
        return instant + -instant % 1000 if self.whole_seconds else instant

    def _read(self, instant: int) -> int:
        return instant - instant % 1000 if self.whole_seconds else instant
