"""A process of the engine as the adapter has it: its own end of the socket pair, and the process's id.

Whatever ends the process, this end sees it; what was asked and has no answer then is `Gone`.
"""

import asyncio
import contextlib
import itertools
import json
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ...adapter import AdapterFault, HostError

Shim = Literal["raw", "emulated"]

START_SECONDS = 60.0
CALL_SECONDS = 30.0
_LINE_LIMIT = 1 << 26  # bytes of one answer


class Gone(Exception):
    """The process of the engine ended before it answered."""


class Engine:
    """A process of the engine, and this end of the way to it."""

    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.process = process
        self.sprung: list[str] = []  # the trap at which it stopped itself
        self._up: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._writer = writer
        self._tickets = itertools.count()
        self._waiting = {-1: self._up}
        self._reading = asyncio.create_task(self._read(reader))

    @classmethod
    async def spawned(cls, shim: Shim, folder: Path, owner: str = "", traps: Sequence[str] = ()) -> "Engine":
        """One that is starting; `owner` is the executor that it is, if it is that of one instance."""
        mine, theirs = socket.socketpair()
        given = [str(theirs.fileno()), str(folder), shim, owner, json.dumps(traps)]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", f"{__package__}.engine", *given),
            stdin=asyncio.subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # it sees the end of the socket, and removes its folder
        )
        theirs.close()
        return cls(process, *await asyncio.open_connection(sock=mine, limit=_LINE_LIMIT))

    async def begin(self, scenario: Mapping[str, Any] | None) -> dict[str, Any]:
        """Have it up, in this scenario; what it says of itself. Raises AdapterFault, or Gone where a trap
        sprang meanwhile."""
        try:
            said = await asyncio.wait_for(self._up, START_SECONDS)
            if scenario is not None:
                await self.ask("begin", **scenario)
        except (TimeoutError, Gone):
            await self.kill()
            if self.sprung:
                raise
            raise AdapterFault("the process of the engine does not start; its log says why") from None
        return said

    async def gone(self) -> None:
        """Return once it is gone."""
        await asyncio.shield(self._reading)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            while line := await reader.readline():
                answer = json.loads(line)
                self.sprung.extend(answer.get("sprung", ()))
                waiting = self._waiting.pop(answer.pop("ticket", None), None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
        for each in self._waiting.values():
            if not each.done():
                each.set_exception(Gone())

    async def ask(self, op: str, seconds: float = CALL_SECONDS, **arguments: Any) -> Any:
        """What it answers; raises HostError for a rejection, AdapterFault for no answer in time, or Gone."""
        ticket = next(self._tickets)
        waiting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[ticket] = waiting
        self._writer.write(
            json.dumps({"ticket": ticket, "op": op, "with": arguments}).encode("ascii") + b"\n"
        )
        if self._reading.done():
            raise Gone
        try:
            answer = await asyncio.wait_for(waiting, seconds)
        except TimeoutError:
            raise AdapterFault(f"the engine did not answer {op} within {seconds:g} s") from None
        if "error" in answer:
            raise HostError(answer["error"]["name"], answer["error"]["message"])
        return answer["ok"]

    async def kill(self) -> None:
        """End it hard, and return once it is gone."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        await self.process.wait()
        self._writer.close()
        await self._reading
