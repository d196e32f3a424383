"""Generated scenarios per second on the reference: made up and run, and judged as well.

Run ``python benchmarks/generate.py [examples]`` (default 200, of the profile `ci`).
"""

import sys
import time
from dataclasses import replace

from fencepost_conformance import judging
from fencepost_conformance.generate.profiles import FIXED_SEED, PROFILES
from fencepost_conformance.generate.search import search
from fencepost_conformance.hosts import resolve


def main() -> None:
    """Print the two figures."""
    examples = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    profile = replace(PROFILES["ci"], examples=examples)
    judge = judging.admitted
    for name, asked in (("run", lambda *seen: None), ("run and judged", judge)):
        judging.admitted = asked
        began = time.perf_counter()
        found = search(resolve("reference"), profile, FIXED_SEED)
        seconds = time.perf_counter() - began
        coverage, failed = found.coverage, len(found.results)
        rates = (
            f"{coverage.scenarios / seconds:7.1f} scenarios/s {coverage.entries / seconds:9,.0f} entries/s"
        )
        print(f"{name:15}{rates}   ({coverage.scenarios} scenarios, {failed} failed, {seconds:.1f} s)")


if __name__ == "__main__":
    main()
