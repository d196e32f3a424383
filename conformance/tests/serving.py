"""`fencepost serve` in a process of its own, and how its tests talk to it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

DEADLINE = 30.0
WORKFLOWS = Path(__file__).with_name("serve_workflows.py")
ENTRY = [sys.executable, "-c", "from fencepost_conformance.cli import main; main()", "serve"]


def until(condition: Callable[[], Any]) -> Any:
    """The first true value of a condition."""
    given_up, pause = time.monotonic() + DEADLINE, threading.Event()
    while not (value := condition()):
        assert time.monotonic() < given_up, "the condition never held"
        pause.wait(0.01)
    return value


def gone(pid: int) -> bool:
    """Whether there is no such process; one that only waits for an adoptive parent to reap it is gone too."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"


class Served:
    """A running command; a context manager that ends it."""

    def __init__(self, *arguments: str, source: str = str(WORKFLOWS), name: str = "Program") -> None:
        command = [*ENTRY, source, "--class", name, "--port", "0", *arguments]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.said: list[str] = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.rstrip("\n"))
            if len(self.said) > 2 and not line.strip():
                break
        else:
            assert self.process.stderr is not None
            raise AssertionError(self.process.stderr.read())
        page = next(line for line in self.said if "the page" in line)
        self.address = page.split()[-1].rstrip("/")
        self.port = int(self.address.rpartition(":")[2])

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.end(signal.SIGTERM)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def end(self, number: signal.Signals) -> int:
        """Send a signal, and return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(DEADLINE)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | str | Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Any]:
        """The status code and the JSON of an answer."""
        status, _, text = self.raw(method, path, body, headers)
        return status, json.loads(text)

    def raw(
        self,
        method: str,
        path: str,
        body: bytes | str | Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Mapping[str, str], bytes]:
        """The status code, the headers and the body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        try:
            sent = json.dumps(body) if isinstance(body, Mapping) else body
            connection.request(method, path, sent, dict(headers or {}))
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, found, answer.read()
        finally:
            connection.close()

    def create(self, params: Any = None, **more: Any) -> str:
        """Create an instance and return its id."""
        status, answer = self.ask("POST", "/instances", {"params": params or {"do": "wait"}, **more})
        assert status == 201, answer
        return str(answer["id"])

    def status(self, id: str) -> str:
        """The status of an instance whose id needs no encoding."""
        return str(self.ask("GET", f"/instances/{id}/status")[1]["status"])

    def frames(self, query: str = "") -> Frames:
        """The stream that a page reads."""
        return Frames(self.port, query)


class Frames:
    """A stream of server-sent events; a context manager."""

    def __init__(self, port: int, query: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), DEADLINE)
        self._socket.sendall(f"GET /page/feed{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> Frames:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def next(self) -> dict[str, Any]:
        """The next frame; EOFError when there is none any more."""
        for line in self._file:
            if line.startswith(b"data: "):
                frame: dict[str, Any] = json.loads(line[6:])
                return frame
        raise EOFError

    def until(self, condition: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """The first frame for which a condition holds."""
        given_up = time.monotonic() + DEADLINE
        while not condition(frame := self.next()):
            assert time.monotonic() < given_up, "no such frame"
        return frame
