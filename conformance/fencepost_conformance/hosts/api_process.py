"""A Host that the kit starts itself, so that it can be killed: its command stands in a variable."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time

from ..adapter import AdapterFault
from ..host_api import DISCOVERY, exchange

_UP_SECONDS = 60.0
_END_SECONDS = 10.0
_LOOK_SECONDS = 0.05


class Started:
    """A process, in a session of its own, that answers at an address."""

    def __init__(self, variable: str, url: str) -> None:
        command = shlex.split(os.environ.get(variable, ""))
        if not command:
            raise AdapterFault(f"the variable {variable} is not set; let it hold the command of the Host")
        self._command, self._url = command, url
        self._process = self._begin()

    def again(self) -> None:
        """Kill it hard, and start it again; return once it answers."""
        self._process.kill()
        self._process.wait()
        self._process = self._begin()

    def end(self) -> None:
        """Have it end, however long it takes within reason."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _begin(self) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, start_new_session=True)
        except OSError as error:
            raise AdapterFault(f"{self._command[0]} cannot be started: {error.strerror}") from error
        limit = time.monotonic() + _UP_SECONDS
        while process.poll() is None and time.monotonic() < limit:
            try:
                if exchange(self._url + DISCOVERY, "GET", {}, seconds=1.0).status == 200:
                    return process
            except AdapterFault:
                time.sleep(_LOOK_SECONDS)
        process.kill()
        process.wait()
        raise AdapterFault(f"{self._command[0]} did not come up at {self._url}; run it by hand to see why")
