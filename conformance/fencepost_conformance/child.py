"""A connection to an adapter in a process of its own, which is ended whatever it is doing.

There are two kinds, and one way to deal with them. Somebody's adapter in Python is imported by a child of
ours, and has two pipes to itself; standard output and error are its log. A program in any language reads
requests from its standard input and writes answers to its standard output; standard error is its log. Of
the log the last lines are shown with a fault.

The process is a group of its own: Ctrl-C in the terminal does not reach it, and closing the connection ends
all of it. One that is not broken sees the end of its input first, and has a moment to leave by itself. If
the kit itself is killed, a child of ours sees the end of its input and ends its group; a program should.

Anything that breaks the protocol (no JSON, a ticket that was not given out, the wrong shape, the end of the
process, a flood) is an `AdapterFault`, after which nothing of the process is left.
"""

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Sequence
from itertools import groupby
from typing import IO, Any

from .adapter import AdapterFault, Answer, Handshake
from .tickets import BadAnswer, Tickets

PATIENCE_SECONDS = 5.0
GRACE_SECONDS = 0.02
WRITE_SECONDS = 60.0
LEAVE_SECONDS = 2.0  # that a sound adapter has to end by itself

LINE_LIMIT = 1 << 26  # bytes of one answer
LOG_LIMIT = 1 << 26  # bytes of log while one answer is waited for
_LOG_KEPT = 1 << 22  # bytes of log from one request to the next
_LOG_TAIL = 4000  # bytes
LINES_KEPT = 200  # of the log of one scenario
LINE_SHOWN = 1000  # characters of one of them
_CHUNK = 1 << 16
_SHOWN = 80  # characters of an answer that was cut short
_SLICE = 0.5  # seconds between two looks at the log


class Child:
    """A Connection to the adapter that a command starts.

    The command speaks on its standard input and output, or, where `apart`, on two pipes whose numbers are
    put in the place of ``IN`` and ``OUT``.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        apart: bool = False,
        patience: float = PATIENCE_SECONDS,
        grace: float = GRACE_SECONDS,
    ) -> None:
        self.patience = patience
        self.grace = grace
        self.greeting: Handshake | None = None
        self.broken = False
        self._output = "its pipe of answers" if apart else "its standard output"
        self._tickets = Tickets()
        self._buffer = bytearray()
        self._log = _new_log()
        self._log_began = 0  # where the log of this scenario begins
        theirs_in, self._write_to = os.pipe()
        self._read_from, theirs_out = os.pipe()
        os.set_blocking(self._write_to, False)
        try:
            self._process = self._started(command, theirs_in, theirs_out, apart)
        except (OSError, ValueError) as error:  # no such program, a NUL in an argument
            for pipe in (self._write_to, self._read_from):
                os.close(pipe)
            self._log.close()
            raise AdapterFault(f"cannot start {command[0]}: {_because(error)}") from error
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        self._end = weakref.finalize(self, _end, self._process, (self._write_to, self._read_from), self._log)

    def _started(
        self, command: Sequence[str], theirs_in: int, theirs_out: int, apart: bool
    ) -> subprocess.Popen[bytes]:
        numbers = {"IN": str(theirs_in), "OUT": str(theirs_out)} if apart else {}
        return subprocess.Popen(
            [numbers.get(word, word) for word in command],
            stdin=subprocess.DEVNULL if apart else theirs_in,
            stdout=self._log if apart else theirs_out,
            stderr=self._log,
            pass_fds=(theirs_in, theirs_out) if apart else (),
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The id of the process, and of its group."""
        return self._process.pid

    def send(self, op: str, **arguments: Any) -> int:
        """Write a request; raises AdapterFault when the adapter does not take it."""
        ticket, line = self._tickets.make(op, arguments)
        self._trim_log()
        if op == "begin":
            self._tickets.forget()
            self._log_began = 0 if self._log.closed else _size(self._log)
        self._write(memoryview(line + b"\n"))
        return ticket

    def poll(self, ticket: int, seconds: float) -> Answer | None:
        """The answer if it comes within `seconds` of real time; raises AdapterFault."""
        limit = time.monotonic() + seconds
        while (answer := self._tickets.fetch(ticket)) is None:
            left = limit - time.monotonic()
            if not self._receive(min(max(left, 0.0), _SLICE)) and left <= 0:
                return None
        return answer

    def unanswered(self) -> list[str]:
        """The ops that wait for an answer, in order."""
        return self._tickets.unanswered()

    def log(self) -> str:
        """The last that the adapter logged."""
        if self._log.closed:
            return ""
        return _text(_tail(self._log, _LOG_TAIL)).strip()

    def lines(self) -> list[str]:
        """The last lines that the adapter has logged since the scenario began: long ones are cut, and one
        that repeats itself is there once."""
        if self._log.closed:
            return []
        logged = _tail(self._log, min(_size(self._log) - self._log_began, _LOG_KEPT))
        cut = (line[:LINE_SHOWN] for line in _text(logged).splitlines())
        told = ((line, sum(1 for _ in same)) for line, same in groupby(cut))
        return [line if count == 1 else f"{line} ({count} times)" for line, count in told][-LINES_KEPT:]

    def close(self) -> None:
        """End the process and all that it started; may be called twice."""
        if self._end.alive and not self.broken:
            self._let_leave()
        self._end()

    def _let_leave(self) -> None:
        """Let the adapter see the end of its input, and wait a moment for the end of its output."""
        with open(os.devnull, "wb", 0) as nothing:
            os.dup2(nothing.fileno(), self._write_to)  # the number stays taken until the end
        limit = time.monotonic() + LEAVE_SECONDS
        while (left := limit - time.monotonic()) > 0:
            readable, _, _ = select.select((self._read_from,), (), (), left)
            if not readable or not os.read(self._read_from, _CHUNK):
                return

    def _write(self, line: memoryview) -> None:
        limit = time.monotonic() + WRITE_SECONDS
        while line:
            self._check_alive()
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
        self._check_alive()
        readable, _, _ = select.select((self._read_from,), (), (), seconds)
        if _size(self._log) > LOG_LIMIT:
            raise self._fault(
                f"the adapter logged more than {LOG_LIMIT} bytes instead of an answer; log less"
            )
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
        if len(self._buffer) > LINE_LIMIT:
            raise self._fault(
                f"the adapter sent {LINE_LIMIT} bytes without the end of a line; end each answer"
            )
        return True

    def _take(self, line: bytes) -> None:
        try:
            self._tickets.take(line)
        except BadAnswer as bad:
            raise self._fault(str(bad)) from None

    def _check_alive(self) -> None:
        if not self._end.alive:
            raise AdapterFault("the adapter's process has been ended")

    def _ended(self) -> AdapterFault:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        status = self._process.returncode
        if status is None:
            how = f"closed {self._output} and goes on running; answers are expected there"
        elif status < 0:
            how = f"was killed by {signal.Signals(-status).name}"
        else:
            how = f"ended with exit status {status}, before the end of its input"
        cut = f" (it left half an answer: {bytes(self._buffer[:_SHOWN])!r})" if self._buffer else ""
        return self._fault(f"the adapter's process {how}{cut}")

    def _fault(self, text: str) -> AdapterFault:
        self.broken = True
        log = self.log()
        self.close()
        return AdapterFault(text, log)

    def _trim_log(self) -> None:
        if not self._log.closed and _size(self._log) > _LOG_KEPT:
            tail = _tail(self._log, _LOG_KEPT // 8)
            self._log_began = max(0, self._log_began - (_size(self._log) - len(tail)))
            os.ftruncate(self._log.fileno(), 0)
            os.write(self._log.fileno(), tail)


def python_child(
    module: str, factory: str, patience: float = PATIENCE_SECONDS, grace: float = GRACE_SECONDS
) -> Child:
    """A Connection to the adapter that `factory` of a Python `module` makes."""
    command = [sys.executable, "-m", f"{__package__}.serve", "IN", "OUT", module, factory]
    return Child(command, apart=True, patience=patience, grace=grace)


def _new_log() -> IO[bytes]:
    """A file that writers append to, so that it can be cut while they go on."""
    log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
    fcntl.fcntl(log, fcntl.F_SETFL, fcntl.fcntl(log, fcntl.F_GETFL) | os.O_APPEND)
    return log


def _size(log: IO[bytes]) -> int:
    return os.fstat(log.fileno()).st_size


def _tail(log: IO[bytes], most: int) -> bytes:
    return os.pread(log.fileno(), most, max(0, _size(log) - most))


def _text(logged: bytes) -> str:
    return logged.decode("utf-8", "replace")


def _because(error: OSError | ValueError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _end(process: subprocess.Popen[bytes], pipes: tuple[int, ...], log: IO[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in pipes:
        os.close(pipe)
    log.close()
