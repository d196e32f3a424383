"""The only judge of a mutant: the kit, through the adapter. It exits with 1 at the first finding.

The shipped scenarios are run on the reference. Those that could show it are run on a fair host too, which
runs what is parked again after a restart and forgets what has been terminal for long enough: two things that
the reference never does, and that many rules are about. Short scenarios come first and megabytes last, the
costliest not at all: what they alone could see is no matter of the machine.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial

from fencepost_conformance.hosts import resolve
from fencepost_conformance.scenario import Scenario, shipped
from fencepost_conformance.selftest import COSTLY, Bench

OTHER = "latitude:after_retention=forgotten,parked_at_restart=runs-again"

PATIENCE_SECONDS, COMPUTING_SECONDS = 600.0, 3.0
"""What is waited for at most, and what a scenario may compute: many times what the longest takes."""

Try = tuple[str, Callable[[], bool]]
"""A scenario on a host, and whether it finds something."""


def tries() -> Iterator[Try]:
    """Every scenario that is run, in its order."""
    scenarios = sorted(shipped(), key=lambda each: (each.heavy, len(each.schedule)))
    for host in ("reference", OTHER):
        bench = Bench(resolve(host), PATIENCE_SECONDS)
        for scenario in scenarios:
            if scenario.id not in COSTLY and (host != OTHER or _shows_other(scenario)):
                yield f"{scenario.id} on {host}", partial(_finds, bench, scenario)


def _shows_other(scenario: Scenario) -> bool:
    restarts = any("restart" in entry for entry in scenario.schedule)
    return not scenario.for_reference and (restarts or scenario.id.startswith("RET/"))


def _finds(bench: Bench, scenario: Scenario) -> bool:
    return bench.run(scenario).outcome != "passed"


def first(promising: Callable[[str], bool] = lambda name: True) -> str:
    """The name of the first one that finds something; what computes for too long ends this process."""
    for name, finds in tries():
        signal.setitimer(signal.ITIMER_VIRTUAL, COMPUTING_SECONDS)
        if promising(name) and finds():
            return name
    return ""


if __name__ == "__main__":
    print(found := first())
    sys.exit(bool(found))
