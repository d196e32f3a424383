"""What a fresh context costs: a fork from the server with its proven stop, beside a new interpreter.

Run ``python benchmarks/contexts.py``.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from fencepost.contexts.forkserver import ForkServer, Module

FORKS = 200
INTERPRETERS = 10


def milliseconds(count: int, once: Callable[[], None]) -> float:
    """The median time of `once`, in milliseconds."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        once()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def main() -> None:
    """Print the two figures and their ratio."""
    server = ForkServer(Module(name="fencepost"))

    def fork() -> None:
        pid, channel = server.spawn()
        server.stop(pid)
        channel.close()

    def interpreter() -> None:
        subprocess.run([sys.executable, "-c", "import fencepost"], check=True)

    forked, cold = milliseconds(FORKS, fork), milliseconds(INTERPRETERS, interpreter)
    server.close()
    print(f"fork, kill and reap   {forked:8.2f} ms")
    print(f"a new interpreter     {cold:8.2f} ms   {cold / forked:.0f} times as long")


if __name__ == "__main__":
    main()
