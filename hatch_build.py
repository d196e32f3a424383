"""What the build cannot be told in a table: the TLA+ modules go into the wheel.

In the repository they stand beside the package that runs them (`model/*.tla`, `model/*.cfg`); in a wheel they
are inside it, under `fencepost_model/tla/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ModulesIntoTheWheel(BuildHookInterface):  # type: ignore[type-arg]
    """Adds every module and configuration of the model to what a wheel includes."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a build; an editable install reads the repository and needs no copy."""
        if version == "editable":
            return
        for path in sorted(Path(self.root, "model").glob("*.*")):
            if path.suffix in (".tla", ".cfg"):
                build_data["force_include"][str(path)] = f"fencepost_model/tla/{path.name}"
