"""Runs TLC as a process of its own, and never leaves one behind.

Every run has its own folder for TLC's states and Java's temporary files, since two runs within one second
would meet otherwise, and its own process group, which is ended as a whole on a timeout, on Ctrl-C and on any
other error here. One worker and a fixed fingerprint and seed: the same run gives the same counterexample.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from fencepost_model.messages import Progress, Run, messages, read
from fencepost_model.tools import Tools, find

QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g")
"""For runs of seconds: what Java would spend on optimizing never comes back."""

LONG = ("-XX:+UseParallelGC", "-Xmx4g")


class Timeout(Exception):
    """TLC took longer than it was given; it is ended."""


def run(
    module: Path,
    configuration: Path,
    *,
    tools: Tools | None = None,
    progress: Callable[[Progress], None] | None = None,
    dump: Path | None = None,
    java: Sequence[str] = QUICK,
    seconds: float | None = None,
) -> Run:
    """Check a module under a configuration; `dump` receives its graph, `seconds` is the bound.

    Raises MissingTools without Java or TLC, Timeout when the bound is reached.
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
            found = read(messages(_lines(process, seconds)), progress)
            process.wait()
        finally:
            _end(process)
    return replace(found, seconds=time.monotonic() - started)


def _lines(process: subprocess.Popen[str], seconds: float | None) -> Iterator[str]:
    """What the process writes, line by line, until it ends or the time is up."""
    assert process.stdout is not None
    if seconds is None:
        yield from process.stdout
        return
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_pass_on, args=(process.stdout, lines), daemon=True).start()
    deadline = time.monotonic() + seconds
    while True:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise Timeout(
                f"TLC did not end within {seconds:g} seconds; give it more, or take a smaller one"
            ) from None
        if line is None:
            return
        yield line


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
