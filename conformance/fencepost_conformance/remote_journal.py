"""The kit's journal as a Host in another process has it: each report is a request, made and answered within
the turn that reports.

Who watches effects from here (a Host that kills or freezes at their edges) is called after the report was
counted. A gate that is closed is asked for again at each tick.
"""

import http.client
import json
import threading
from typing import Any
from urllib.parse import urlsplit

from fencepost import workflow

from .adapter import AdapterFault
from .journal import Journal

_SECONDS = 30.0
_POLL_MILLISECONDS = 10


class RemoteJournal(Journal):
    """The journal at a base URL."""

    def __init__(self, base: str) -> None:
        super().__init__()
        parts = urlsplit(base)
        self._path = parts.path
        self._connection = http.client.HTTPConnection(parts.netloc, timeout=_SECONDS)
        self._lock = threading.Lock()

    def run(self, instance: str) -> None:
        """`run` was called in a context of this instance."""
        self._report("run", instance=instance)

    def mark(self, label: str) -> None:
        """The program passed this label, outside of any step."""
        self._report("mark", label=label)

    def count_start(self, instance: str, name: str) -> int:
        """Count the start of an effect; gives the number of this execution, from 1."""
        execution = int(self._report("effect-start", instance=instance, name=name)["execution"])
        for watcher in self.on_effect_start:
            watcher(instance, name)
        return execution

    def count_end(self, instance: str, name: str) -> None:
        """Count the end of an effect."""
        self._report("effect-end", instance=instance, name=name)
        for watcher in self.on_effect_end:
            watcher(instance, name)

    def is_open(self, gate: str) -> bool:
        """Whether a gate was released."""
        return bool(self._report("gate", name=gate)["open"])

    async def gate(self, name: str) -> None:
        """Stand at a gate until it is released."""
        await workflow.next_turn()
        while not self.is_open(name):
            await self.tick(_POLL_MILLISECONDS)

    def _report(self, report: str, **body: str) -> Any:
        with self._lock:
            try:
                self._connection.request("POST", f"{self._path}/{report}", json.dumps(body).encode("ascii"))
                response = self._connection.getresponse()
                answer = response.read()
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                raise AdapterFault(f"the journal does not answer: {error}") from error
        if response.status != 200:
            raise AdapterFault(f"the journal refused {report}: {answer.decode('utf-8', 'replace')}")
        return json.loads(answer)

    def __del__(self) -> None:
        self._connection.close()
