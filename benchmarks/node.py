"""What a fresh JavaScript context costs: a process of Node with and without a pool, beside a fork of Python.

Run ``python benchmarks/node.py [contexts]`` (default 40). Each context runs one step, settles, and is killed
and reaped. *In a row* is sustained: the pool prepares processes as fast as they are taken, so it hides no
work. *After a pause* is the latency of one context whose process was ready.
"""

import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from fencepost.contexts.execution import Proposal, ProposeCommit
from fencepost.contexts.forkserver import ForkServer, Module
from fencepost.contexts.node import JavaScript
from fencepost.contexts.node_execution import NodeExecution
from fencepost.contexts.node_process import Pool
from fencepost.machine.replies import Recorded, Reply, Run
from fencepost.machine.state import Succeeded

SOURCE = "export class Flow { async run(event, step) { return await step.do('a', () => ({ n: 1 })); } }"


class Admits:
    """A port that lets every step run."""

    def begin(self, kind: Any, name: Any, arguments: Mapping[str, Any]) -> Reply:
        """Attempt 1."""
        return Run(1)

    def park(self) -> Reply:
        """Never asked."""
        raise NotImplementedError


def context(pool: Pool) -> None:
    """One context from its start to its reaped process."""
    execution = NodeExecution(JavaScript(SOURCE), "Flow", {}, "i", None, Admits(), pool=pool)
    while not isinstance(signal := execution.turn(), Proposal) or isinstance(signal, ProposeCommit):
        if isinstance(signal, ProposeCommit):
            execution.deliver(
                Recorded(Succeeded(signal.result if isinstance(signal.result, bytes) else None))
            )
    execution.discard()


def rate(count: int, once: Callable[[], None]) -> float:
    """Contexts per second, one after the other."""
    began = time.perf_counter()
    for _ in range(count):
        once()
    return count / (time.perf_counter() - began)


def latency(count: int, pool: Pool) -> float:
    """The median time of a context whose process is ready, in milliseconds."""
    times = []
    for _ in range(count):
        pool.warm()
        began = time.perf_counter()
        context(pool)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def main() -> None:
    """Print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    cold, warm = Pool(0), Pool()
    server = ForkServer(Module(name="fencepost"))

    def fork() -> None:
        pid, channel = server.spawn()
        server.stop(pid)
        channel.close()

    cold.warm()
    warm.warm()
    print(f"Node, no pool, in a row   {rate(count, lambda: context(cold)):8.1f} contexts/s")
    print(f"Node, a pool, in a row    {rate(count, lambda: context(warm)):8.1f} contexts/s")
    print(f"Node, a pool, after a pause {latency(count // 2, warm):6.1f} ms")
    print(f"fork server, spawn and stop {rate(count * 5, fork):6.1f} contexts/s")
    server.close()
    for pool in (cold, warm):
        pool.close()


if __name__ == "__main__":
    main()
