"""States a second of TLC and of the explorer on the same configuration, in one run.

Run ``python benchmarks/model.py [CONFIG ...]`` (by default the Small configurations). Both check the same
invariants and action properties; refinement and liveness, which only TLC checks, are left out for both. TLC's
time is that of its whole run, the start of Java (a second or more) included, so that it is ahead only on the
larger configurations.
"""

import sys
import time
from dataclasses import replace

from fencepost_model import check, compare, configs, explore, predicates

DEFAULT = ("FencingSmall", "WaitsSmall", "ResourceSmall")


def both(name: str) -> configs.Configuration:
    """The configuration with what both sides can check."""
    configuration = configs.load(name)
    stated = predicates.of(configuration.module)
    kept = tuple(each for each in configuration.properties if each in stated.properties)
    return replace(configuration, specification="Spec", properties=kept)


def main() -> None:
    """Print the figures."""
    print(f"{'configuration':<16}{'states':>9}{'TLC /s':>10}{'explorer /s':>13}{'moves /s':>10}")
    for name in sys.argv[1:] or DEFAULT:
        configuration = both(name)
        began = time.perf_counter()
        run = check.execute(configuration)
        tlc = time.perf_counter() - began
        found = explore.explore(configuration, walked=compare.universe(configuration))
        assert run.outcome == "passed", run.problem
        assert found.passed
        assert found.states == run.distinct
        print(
            f"{name:<16}{found.states:>9,}{run.distinct / tlc:>10,.0f}{found.states / found.seconds:>13,.0f}"
            f"{found.moves / found.seconds:>10,.0f}"
        )


if __name__ == "__main__":
    main()
