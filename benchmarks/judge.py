"""Observations that the judge judges per second of its own computing time, for histories of 100, 1,000 and
10,000 observations of sequential callers.

Run ``python benchmarks/judge.py``. Each history is played on the reference first, which is not timed. One
instance after the other is created, runs a step, sleeps, and takes events until it ends; in between its
status and, whenever the Host has settled, the journal are read. The growth must be near linear.
"""

import time
from typing import Any

from fencepost_conformance.hosts.reference import make
from fencepost_conformance.inprocess import InProcess
from fencepost_conformance.judge import judge
from fencepost_conformance.run import Run
from fencepost_conformance.runner import greet
from fencepost_conformance.scenario import Scenario

Entry = dict[str, Any]
Program = list[dict[str, Any]]

SIZES = (100, 1_000, 10_000)
EVENTS = 24  # of one life, each with four observations


def lives(observations: int) -> Scenario:
    """Instances one after the other, until there are enough observations."""
    programs: dict[str, Program] = {}
    schedule: list[Entry] = []
    shown = 0
    while shown < observations:
        id = f"i{len(programs)}"
        programs[id] = [
            {"do": f"{id}.a", "effect": {"value": {"n": 1}}, "as": "a"},
            {"sleep": f"{id}.s", "seconds": 60},
            {
                "repeat": EVENTS,
                "index": "n",
                "ops": [{"wait": "w${n}", "type": "go", "timeoutSeconds": 60, "as": "w"}],
            },
            {"return": {"a": {"$": "a"}, "w": {"$": "w"}}},
        ]
        schedule += [{"create": id, "program": id}, {"settle": True}, {"status": id}]
        schedule += [{"advance": 60}, {"settle": True}]
        shown += 4
        for number in range(EVENTS):
            if shown < observations:
                schedule += [
                    {"status": id},
                    {"sendEvent": id, "type": "go", "payload": {"n": number}},
                    {"settle": True},
                    {"get": id},
                ]
                shown += 4
    document = {"title": "lives", "clauses": ["EXT-1"], "judged": True}
    return Scenario("lives", {**document, "programs": programs, "schedule": schedule})


def main() -> None:
    """Print a line for each size."""
    for size in SIZES:
        connection = InProcess(make())
        handshake = greet(connection)
        run = Run(connection, handshake, lives(size))
        run.play()
        began = time.process_time()
        verdict = judge(run.scenario, run.observations, handshake)
        seconds = time.process_time() - began
        assert verdict.admitted, str(verdict)
        count = len(run.observations)
        print(f"{count:6d} observations: {count / seconds:7,.0f} per second ({seconds:.2f} s)")


if __name__ == "__main__":
    main()
