"""How much is generated: examples, their length, and how long shrinking may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """`examples` scenarios of at most `steps` rules each; `shrink_seconds` of real time for all shrinking.

    With `fixed_seed` the same scenarios are tried in each run that gives no seed.
    """

    name: str
    examples: int
    steps: int
    shrink_seconds: float
    fixed_seed: bool = False


PROFILES: Mapping[str, Profile] = {
    each.name: each
    for each in (
        Profile("quick", 60, 12, 20.0),
        Profile("ci", 300, 20, 90.0, fixed_seed=True),
        Profile("soak", 10_000, 40, 300.0),
    )
}
REAL_TIME: Mapping[str, Profile] = {
    each.name: each
    for each in (
        Profile("quick", 24, 8, 20.0),
        Profile("ci", 60, 10, 40.0, fixed_seed=True),
        Profile("soak", 600, 12, 200.0),
    )
}
"""The same on a Host on real time, which takes seconds for each scenario."""

DEFAULT = "quick"
FIXED_SEED = 0
