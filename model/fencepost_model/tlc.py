"""Runs TLC as a process of its own, and never leaves one behind.

Every run has its own folder for TLC's states and Java's temporary files, since two runs within one second
would meet otherwise, and its own process group, which is ended as a whole on a timeout, on Ctrl-C and on any
other error here. One worker and a fixed fingerprint and seed: the same run gives the same counterexample.
"""

from __future__ import annotations

import math
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import IO, TypeVar

from fencepost_model.messages import Progress, Run, messages, read
from fencepost_model.tools import Tools, find

QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g")
"""For runs of seconds: what Java would spend on optimizing never comes back."""

LONG = ("-XX:+UseParallelGC", "-Xmx4g")


Item = TypeVar("Item")
Done = TypeVar("Done")

_LOOK = 0.2
"""How often, in seconds, a silent run looks whether it is to stop."""


class Timeout(Exception):
    """TLC took longer than it was given; it is ended."""


class Stopped(Exception):
    """TLC was told to stop; it is ended."""


def run(
    module: Path,
    configuration: Path,
    *,
    tools: Tools | None = None,
    progress: Callable[[Progress], None] | None = None,
    dump: Path | None = None,
    java: Sequence[str] = QUICK,
    seconds: float | None = None,
    stop: threading.Event | None = None,
) -> Run:
    """Check a module under a configuration; `dump` receives its graph, `seconds` is the bound.

    Raises MissingTools without Java or TLC, Timeout when the bound is reached, Stopped after `stop`.
    """
    tools = tools or find()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fencepost-tlc-") as folder:
        command = [str(tools.java), *java, f"-Djava.io.tmpdir={folder}", "-cp", str(tools.jar), "tlc2.TLC"]
        command += ["-tool", "-deadlock", "-workers", "1", "-fp", "0", "-seed", "0"]
        command += ["-metadir", str(Path(folder) / "states")]
        if dump is not None:
            command += ["-dump", "dot,actionlabels", str(dump.resolve())]
        command += ["-config", str(configuration.resolve()), module.stem]
        process = subprocess.Popen(
            command,
            cwd=module.resolve().parent,  # other modules are looked for beside this one
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        try:
            found = read(messages(_lines(process, seconds, stop)), progress)
            process.wait()
        finally:
            _end(process)
    return replace(found, seconds=time.monotonic() - started)


def _lines(
    process: subprocess.Popen[str], seconds: float | None, stop: threading.Event | None
) -> Iterator[str]:
    """What the process writes, line by line, until it ends, the time is up, or it is to stop."""
    assert process.stdout is not None
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_pass_on, args=(process.stdout, lines), daemon=True).start()
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    while True:
        if stop is not None and stop.is_set():
            raise Stopped("TLC was stopped")
        try:
            line = lines.get(timeout=max(0.0, min(_LOOK, deadline - time.monotonic())))
        except queue.Empty:
            if time.monotonic() >= deadline:
                raise Timeout(
                    f"TLC did not end within {seconds:g} seconds; give it more, or take a smaller one"
                ) from None
            continue
        if line is None:
            return
        yield line


def together(
    work: Callable[[Item, threading.Event], Done], items: Iterable[Item], workers: int
) -> Iterator[Done]:
    """What `work` makes of each item, in order, `workers` at once; leaving early stops all that run."""
    stop = threading.Event()
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            yield from pool.map(lambda item: work(item, stop), tuple(items))
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _pass_on(stream: IO[str], lines: queue.SimpleQueue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _end(process: subprocess.Popen[str]) -> None:
    """End the whole group: a killed parent would leave Java running."""
    if process.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
