"""The only judge of a mutant: the kit, through the adapter, on the reference. It exits with 1 at the first
finding.

Scenarios that move megabytes come last, the costliest not at all: what they alone could see is no matter of
the machine.
"""

from __future__ import annotations

import sys

from fencepost_conformance.hosts import resolve
from fencepost_conformance.scenario import shipped
from fencepost_conformance.selftest import COSTLY, Bench

SECONDS = 20.0


def main() -> int:
    """Run the scenarios until one does not pass."""
    bench = Bench(resolve("reference"), SECONDS)
    for scenario in sorted(shipped(), key=lambda each: (each.heavy, len(each.schedule))):
        if scenario.id not in COSTLY and bench.run(scenario).outcome != "passed":
            print(scenario.id)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
