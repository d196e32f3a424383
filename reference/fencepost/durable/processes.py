"""What this machine says of processes: whether one still is, and the end of a whole session.

Everything that a worker's launcher starts is in one session, led by a process whose id cannot be given away
while any of them lives. So that nothing of a session is left proves that no context of that worker runs
(PUB-1, TRM-1), whoever looks, and without the worker's help. Once nothing is left the id may lead somebody
else's session, which is known by its beginning, and left alone. Elsewhere than on Linux nothing can be proven
like this.
"""

import contextlib
import os
import signal
import socket
import time
from pathlib import Path

_PROC = Path("/proc")
_PATIENCE_SECONDS = 5.0
_LOOK_SECONDS = 0.002
_STATE, _SESSION, _BEGAN = 0, 3, 19
"""Where these stand in /proc/PID/stat, counted behind the name."""

_ENDED = ("Z", "X")


def machine() -> str:
    """This boot of this machine, and the space that its process ids are counted in."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return f"{socket.gethostname()}/unknown"


def _facts(pid: int | str) -> list[str] | None:
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def began(pid: int) -> str:
    """When a process began, in the system's own count; empty if there is none that runs."""
    facts = _facts(pid)
    return "" if facts is None or facts[_STATE] in _ENDED else facts[_BEGAN]


def members(session: int, since: str = "") -> list[int]:
    """The processes of a session that have not ended; of the one that has its leader `since` then, if that
    is known."""
    found: list[int] = []
    if since and began(session) not in (since, ""):
        return found
    for name in os.listdir(_PROC):
        facts = _facts(name) if name.isdigit() else None
        if facts is not None and facts[_SESSION] == str(session) and facts[_STATE] not in _ENDED:
            found.append(int(name))
    return found


def end_session(session: int, since: str = "") -> bool:
    """Kill everything of a session, as `members` knows it; whether nothing of it is left."""
    if not _PROC.is_dir():
        return False
    given_up = time.monotonic() + _PATIENCE_SECONDS
    while left := members(session, since):
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > given_up:
            return False
        time.sleep(_LOOK_SECONDS)
    return True
