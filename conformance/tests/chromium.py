"""A headless Chromium, driven over a pair of pipes in the browser's own protocol, and nothing else.

Every request that a page makes is kept, so that a test can say that there was none.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
SECONDS = 60.0  # for one answer, on a machine that is busy with something else
_HIGH = 10  # file descriptors from here on, clear of the two that the browser expects
# The browser reads its commands from descriptor 3 and answers on 4.
_LAUNCH = (
    "import os, sys; [os.dup2(int(sys.argv[n]), n + 2) for n in (1, 2)]; os.execv(sys.argv[3], sys.argv[3:])"
)


class Chromium:
    """One browser with one page; a context manager."""

    def __init__(self, path: str, profile: Path) -> None:
        command_read, self._write = _pipe()
        self._read, answer_write = _pipe()
        flags = [*FLAGS, f"--user-data-dir={profile}"]
        launch = [sys.executable, "-c", _LAUNCH, str(command_read), str(answer_write), path, *flags]
        self._process = subprocess.Popen(
            launch,
            pass_fds=(command_read, answer_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command_read)
        os.close(answer_write)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and return its result; RuntimeError with what the browser says is wrong."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode("utf-8") + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def open(self, address: str, width: int = 1280, height: int = 1000) -> None:
        """Open an address, and return once the page has loaded."""
        self.events.clear()
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.ask("Page.navigate", url=address)
        self.wait_for("Page.loadEventFired")

    def wait_for(self, method: str) -> dict[str, Any]:
        """The next event of this name."""
        while True:
            for event in self.events:
                if event.get("method") == method:
                    return event
            self.events.append(self._next())

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press and release a key."""
        about = {"key": key, "windowsVirtualKeyCode": code, "nativeVirtualKeyCode": code}
        self.ask("Input.dispatchKeyEvent", type="keyDown", text=text, **about)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **about)

    def screenshot(self, path: Path, **clip: float) -> bytes:
        """Write what is seen, or a part of the page (x, y, width, height), as PNG."""
        whole = {"clip": {**clip, "scale": 1}, "captureBeyondViewport": True} if clip else {}
        data = base64.b64decode(self.ask("Page.captureScreenshot", format="png", **whole)["data"])
        path.write_bytes(data)
        return data

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.ask("Page.printToPDF", preferCSSPageSize=True)["data"])

    def requests(self) -> list[str]:
        """The addresses of everything that the page has asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def complaints(self) -> list[str]:
        """What the browser and the page's script complained of."""
        logged = [
            event["params"]["entry"]["text"]
            for event in self.events
            if event.get("method") == "Log.entryAdded"
        ]
        thrown = [
            str(event["params"]) for event in self.events if event.get("method") == "Runtime.exceptionThrown"
        ]
        return logged + thrown

    def _next(self) -> dict[str, Any]:
        limit = time.monotonic() + SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(limit - time.monotonic(), 0))
            received = os.read(self._read, 1 << 20) if ready else b""
            if not received:
                raise RuntimeError("the browser has ended" if ready else f"no answer within {SECONDS:g} s")
            self._buffer += received
        message, _, self._buffer = self._buffer.partition(b"\0")
        read: dict[str, Any] = json.loads(message)
        return read


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are clear of the descriptors that the browser expects."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _HIGH) for end in ends]
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
