"""A connection to somebody else's adapter, which runs in a child process so that a hang can be ended.

The child is a process group of its own: Ctrl-C in the terminal does not reach it, and closing the
connection kills all of it, whatever it is doing. If the kit itself is killed, the child sees the end of its
input and ends its group. Requests and answers are JSON lines on two pipes of their own; standard output and
error are the adapter's log, of which the last lines are shown with a fault.

Anything that breaks the protocol (no JSON, a ticket that was not given out, the wrong shape, the end of the
process) is an `AdapterFault`, after which nothing of the child is left.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from typing import IO, Any

from .adapter import AdapterFault, Answer, Handshake

PATIENCE_SECONDS = 5.0
GRACE_SECONDS = 0.02
WRITE_SECONDS = 60.0

_CHUNK = 1 << 16
_LOG_TAIL = 4000  # bytes
_SHOWN = 80  # characters of a line that is no answer


class Child:
    """A Connection to the adapter that `factory` of `module` makes, in a child process."""

    def __init__(
        self, module: str, factory: str, patience: float = PATIENCE_SECONDS, grace: float = GRACE_SECONDS
    ) -> None:
        self.patience = patience
        self.grace = grace
        self.greeting: Handshake | None = None
        self.broken = False
        self._tickets = 0
        self._outstanding: dict[int, str] = {}
        self._answers: dict[int, Answer] = {}
        self._buffer = bytearray()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        theirs_in, self._write_to = os.pipe()
        self._read_from, theirs_out = os.pipe()
        os.set_blocking(self._write_to, False)
        command = [
            sys.executable,
            "-m",
            f"{__package__}.serve",
            str(theirs_in),
            str(theirs_out),
            module,
            factory,
        ]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=(theirs_in, theirs_out),
                start_new_session=True,
            )
        except OSError as error:
            for pipe in (self._write_to, self._read_from):
                os.close(pipe)
            raise AdapterFault(f"cannot start a child process: {error}") from error
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        self._end = weakref.finalize(self, _end, self._process, (self._write_to, self._read_from), self._log)

    @property
    def pid(self) -> int:
        """The id of the process, and of its group."""
        return self._process.pid

    def send(self, op: str, **arguments: Any) -> int:
        """Write a request; raises AdapterFault when the child does not take it."""
        self._tickets += 1
        ticket = self._tickets
        line = json.dumps({"op": op, "ticket": ticket, **arguments}).encode("ascii") + b"\n"
        self._outstanding[ticket] = op
        self._write(memoryview(line))
        return ticket

    def poll(self, ticket: int, seconds: float) -> Answer | None:
        """The answer if it comes within `seconds` of real time; raises AdapterFault."""
        limit = time.monotonic() + seconds
        while ticket not in self._answers:
            left = limit - time.monotonic()
            if not self._receive(max(left, 0.0)) and left <= 0:
                return None
        return self._answers.pop(ticket)

    def log(self) -> str:
        """The last that the adapter wrote to its standard output and error."""
        if self._log.closed:
            return ""
        return _tail(self._log)

    def close(self) -> None:
        """Kill the child's process group and reap the child; may be called twice."""
        self._end()

    def _write(self, line: memoryview) -> None:
        limit = time.monotonic() + WRITE_SECONDS
        while line:
            if not self._end.alive:
                raise AdapterFault("the adapter's process has been ended")
            _, writable, _ = select.select((), (self._write_to,), (), 0)
            if not writable:
                self._receive(0.01)  # it may wait for us to read
                if time.monotonic() > limit:
                    raise self._fault("the adapter does not read its requests")
                continue
            try:
                line = line[os.write(self._write_to, line) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise self._ended() from None

    def _receive(self, seconds: float) -> bool:
        """Read what there is, waiting at most `seconds`; False when nothing came."""
        if not self._end.alive:
            raise AdapterFault("the adapter's process has been ended")
        readable, _, _ = select.select((self._read_from,), (), (), seconds)
        if not readable:
            return False
        chunk = os.read(self._read_from, _CHUNK)
        if not chunk:
            raise self._ended()
        self._buffer += chunk
        if b"\n" in chunk:
            *lines, rest = self._buffer.split(b"\n")
            self._buffer = bytearray(rest)
            for line in lines:
                self._take(bytes(line))
        return True

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            raise self._fault(f"the adapter sent a line that is not JSON: {line[:_SHOWN]!r}") from None
        if not isinstance(message, dict):
            raise self._fault(f"the adapter sent no object: {line[:_SHOWN]!r}")
        ticket = message.pop("ticket", None)
        op = self._outstanding.pop(ticket, None) if isinstance(ticket, int) else None
        if op is None:
            raise self._fault(f"the adapter answered a request that was not made: {line[:_SHOWN]!r}")
        match message:
            case {"ok": value, **others} if not others:
                self._answers[ticket] = Answer(value)
            case {"error": {"name": str(name), "message": str(text)}, **others} if not others:
                self._answers[ticket] = Answer(error=(name, text))
            case {"fault": str(text), **others} if not others:
                raise self._fault(text)
            case _:
                raise self._fault(
                    f"the adapter's answer to {op} is none of ok, error, fault: {line[:_SHOWN]!r}"
                )

    def _ended(self) -> AdapterFault:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        status = self._process.returncode
        if status is None:
            how = "closed its output"
        elif status < 0:
            how = f"was killed by {signal.Signals(-status).name}"
        else:
            how = f"ended with exit status {status}"
        return self._fault(f"the adapter's process {how}")

    def _fault(self, text: str) -> AdapterFault:
        self.broken = True
        log = self.log()
        self.close()
        return AdapterFault(text, log)


def _tail(log: IO[bytes]) -> str:
    size = os.fstat(log.fileno()).st_size
    return os.pread(log.fileno(), _LOG_TAIL, max(0, size - _LOG_TAIL)).decode("utf-8", "replace").strip()


def _end(process: subprocess.Popen[bytes], pipes: tuple[int, ...], log: IO[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in pipes:
        os.close(pipe)
    log.close()
