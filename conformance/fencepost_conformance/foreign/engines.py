"""The foreign engines that the kit has adapters for, and how a HOST string leads to one.

`NAME` is an engine behind the shim `emulated`, `NAME-raw` the same behind `raw`. Packages of an engine are
imported, and its programs run, in the adapter's own process alone.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from os import environ
from pathlib import Path

from fencepost.contexts.node_tools import node

from ..adapter import Connection
from ..child import Child, python_child
from ..wired import Wired

Watch = Callable[[Connection], Connection]
"""What is put around that which the adapter is spoken to by."""

PLACE = Path(__file__).parent
VARIABLE = "FENCEPOST_ENGINES"
SHIMS = ("emulated", "raw")
_LISTS = ("package.json", "package-lock.json")
_DONE = "installed"


class NotInstalled(Exception):
    """The packages of an engine are not there: one line that says how to install them."""


@dataclass(frozen=True)
class Engine:
    """One engine; `of_npm` says where its packages come from, and with it what its adapter is written in."""

    name: str
    title: str
    of_npm: bool
    documentation: str

    @property
    def installation(self) -> str:
        """The one command that installs what it needs."""
        return f"fencepost install {self.name}"

    @property
    def is_installed(self) -> bool:
        """Whether its packages are there."""
        return self._is_laid_out() if self.of_npm else find_spec(self.name) is not None

    def require(self) -> None:
        """Raise NotInstalled, or NodeMissing, unless it can be started."""
        if self.of_npm:
            node()
        if not self.is_installed:
            raise NotInstalled(f"{self.title} is not installed: {self.installation}")

    def connect(self, shim: str, watch: Watch) -> Connection:
        """Start its adapter behind a shim; raises AdapterFault."""
        if not self.of_npm:
            return watch(python_child(f"fencepost_conformance.foreign.{self.name}", shim))
        program = PLACE / self.name / "host.mjs"
        command = [str(node()), str(program), "--shim", shim, "--packages", str(self.folder)]
        return Wired(watch(Child(command)))

    @property
    def folder(self) -> Path:
        """Where its npm packages are laid out: below FENCEPOST_ENGINES, or the user's cache."""
        cache = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return Path(environ.get(VARIABLE) or cache / "fencepost" / "engines") / self.name

    def _is_laid_out(self) -> bool:
        mark = self.folder / _DONE
        return mark.is_file() and mark.read_bytes() == self._lists()

    def _lists(self) -> bytes:
        return b"\n".join((PLACE / self.name / name).read_bytes() for name in _LISTS)

    def install(self) -> None:
        """Install its packages, exactly those of its lock file where they are npm's; raises NodeMissing, or
        CalledProcessError, after which nothing counts as installed."""
        if not self.of_npm:
            subprocess.run([sys.executable, "-m", "pip", "install", *self._wanted()], check=True)
            return
        program = node()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for name in _LISTS:
            shutil.copy(PLACE / self.name / name, self.folder)
        command = [str(program), str(_npm(program)), "ci", "--no-audit", "--no-fund"]
        path = f"{program.parent}:{environ.get('PATH', '')}"  # scripts of packages look for node
        subprocess.run(command, cwd=self.folder, env={**environ, "PATH": path}, check=True)
        (self.folder / _DONE).write_bytes(self._lists())

    def _wanted(self) -> Iterator[str]:
        """The packages of its extra."""
        try:
            declared = requires("fencepost") or []
        except PackageNotFoundError:
            declared = []
        for each in declared:
            package, _, marker = each.partition(";")
            if f"extra == '{self.name}'" in marker.replace('"', "'"):
                yield package.strip()


def _npm(program: Path) -> Path:
    """The npm that comes with a Node."""
    return program.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


ENGINES: Mapping[str, Engine] = {
    each.name: each
    for each in (
        Engine(
            "cloudflare",
            "Cloudflare Workflows (local engine)",
            True,
            "https://developers.cloudflare.com/workflows/",
        ),
        Engine("dbos", "DBOS Transact", False, "https://docs.dbos.dev/"),
        Engine("restate", "Restate", True, "https://docs.restate.dev/"),
    )
}

HOSTS: Mapping[str, tuple[Engine, str]] = {
    engine.name + ("" if shim == SHIMS[0] else f"-{shim}"): (engine, shim)
    for engine in ENGINES.values()
    for shim in SHIMS
}
"""Every HOST string of a foreign engine, with the engine and its shim."""


def connecting(host: str, watch: Watch) -> Callable[[], Connection]:
    """A function that connects to one of `HOSTS`; raises NotInstalled or NodeMissing."""
    engine, shim = HOSTS[host]
    engine.require()
    return lambda: engine.connect(shim, watch)
