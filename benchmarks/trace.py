"""Seconds in which TLC follows a recorded history of 1,000 actions through both modules that it touches.

Run ``python benchmarks/trace.py [PAIRS]``. The history is the reference's own: one instance with PAIRS of a
``do`` and a wait, whose events lie in the inbox. The modules are followed side by side, as the command
`fencepost model trace` does; then two events that differ are swapped, and the refusal is timed too.
"""

import sys
import time
from typing import Any

from fencepost_conformance.cli.ask import document
from fencepost_conformance.inprocess import InProcess
from fencepost_conformance.runner import run_scenario
from fencepost_conformance.scenario import from_document
from fencepost_conformance.timeline import Watched, timeline
from fencepost_model import history, trace

PAIRS = 165
"""With these the longer of the two logs has 1,002 actions."""


def scenario(pairs: int) -> dict[str, Any]:
    """One instance that sleeps while its events are sent, and then takes them one after the other."""
    body = [
        {"do": "a${k}", "effect": {"value": {"n": 1}}},
        {"wait": "w${k}", "type": "go", "timeoutSeconds": 100},
    ]
    program = [{"sleep": "s", "seconds": 1}, {"repeat": pairs, "index": "k", "ops": body}, {"return": {}}]
    return {
        "format": "fencepost.scenario@1",
        "title": "A long history",
        "clauses": ["WFE-8"],
        "programs": {"main": program},
        "schedule": [
            {"create": "i", "program": "main"},
            {"settle": True},
            {"sendEvent": "i", "type": "go", "payload": {"n": 1}, "times": pairs - 1},
            {"sendEvent": "i", "type": "stop"},
            {"sendEvent": "i", "type": "go", "payload": {"n": 2}},
            {"advance": 1},
            {"settle": True},
            {"status": "i", "expect": {"status": "complete", "output": {}}},
        ],
    }


def recorded(pairs: int) -> list[dict[str, Any]]:
    """The moments of that scenario on the reference, as ``fencepost ask --json`` prints them."""
    watched = Watched()
    result = run_scenario(InProcess(watched), from_document(scenario(pairs), "long"))
    assert result.outcome == "passed", result
    return [document(row) for row in timeline(watched)]


def swapped(moments: list[dict[str, Any]]) -> tuple[int, list[dict[str, Any]]]:
    """The number of the moment of the send before the last, and the moments with these two swapped."""
    *_, first, second = (place for place, each in enumerate(moments) if each["what"].startswith("SendEvent"))
    changed = list(moments)
    changed[first], changed[second] = moments[second], moments[first]
    return first + 1, changed


def main() -> None:
    """Print the figures."""
    moments = recorded(int(sys.argv[1]) if sys.argv[1:] else PAIRS)
    place, changed = swapped(moments)
    for name, rows in (("as recorded", moments), (f"sends swapped from moment {place} on", changed)):
        began = time.perf_counter()
        followed = list(trace.follow(history.rows(rows)))
        seconds = time.perf_counter() - began
        print(f"{name}: {seconds:.1f} s")
        for each in followed:
            end = "accepted" if each.refused is None else f"refused at moment {each.refused.number}"
            print(f"  {each.module}: {each.actions:,} actions, {end}")


if __name__ == "__main__":
    main()
