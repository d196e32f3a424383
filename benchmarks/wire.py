"""What a process in between costs: directed scenarios per second on the reference in this process, through an
adapter's child process, through a program's standard streams and through HTTP.

Run ``python benchmarks/wire.py [every]`` (default 4: each fourth scenario). The journal is in this process,
in the child, and by HTTP in the last two.
"""

import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from fencepost_conformance.adapter import Connection
from fencepost_conformance.hosts import resolve
from fencepost_conformance.runner import greet, run_scenario
from fencepost_conformance.scenario import Scenario, select, shipped

ADAPTER = "python:fencepost_conformance.hosts.reference:make"
SERVE = [sys.executable, "-m", "fencepost_conformance.wire_host", ADAPTER]


def rate(connect: Callable[[], Connection], scenarios: Sequence[Scenario]) -> float:
    """Scenarios per second, once the adapter has started."""
    connection = connect()
    try:
        greet(connection)
        run_scenario(connection, scenarios[0])
        began = time.perf_counter()
        for each in scenarios:
            result = run_scenario(connection, each)
            assert result.outcome == "passed", (result.scenario, result.detail)
        return len(scenarios) / (time.perf_counter() - began)
    finally:
        connection.close()


def main() -> None:
    """Print a line for each way."""
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    scenarios = [each for each in select(shipped(), reference=False) if not each.heavy][::every]
    with subprocess.Popen([*SERVE, "--http", "0"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().removeprefix("listening on ").strip()
        hosts = {
            "in process": "reference",
            "child process": ADAPTER,
            "standard streams": f"cmd:{shlex.join(SERVE)}",
            "HTTP": address,
        }
        rates = {name: rate(resolve(host), scenarios) for name, host in hosts.items()}
        server.kill()
    for name, found in rates.items():
        print(f"{name:18}{found:7.1f} scenarios/s  ({len(scenarios)} scenarios)")


if __name__ == "__main__":
    main()
