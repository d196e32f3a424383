"""What a deployed Version is to whoever runs it: its module, its `env`, and what it exports."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from fencepost.api.artifacts import Artifacts, NotYet, Unsound
from fencepost.contexts.node import Binding, JavaScript
from fencepost.host.launching import Code
from fencepost.host.node_launching import NodeCode
from fencepost.management import queries
from fencepost.management.driver import inspect
from fencepost.management.state import State


class Versions:
    """Versions by their UIDs; `binding` makes a Binding to the Workflow of a UID."""

    def __init__(
        self, state: Callable[[], State], artifacts: Artifacts, binding: Callable[[str], Binding]
    ) -> None:
        self._state, self._artifacts, self._binding = state, artifacts, binding
        self._guard = threading.Lock()
        self._modules: dict[str, JavaScript] = {}

    def module(self, version: str) -> JavaScript:
        """The code of a verified Version; ValueError where it is gone, or its bytes are lost."""
        with self._guard:
            if version not in self._modules:
                try:
                    spec = queries.artifact(self._state(), version)
                    self._modules[version] = JavaScript(*self._artifacts.main(spec.url, spec.sha256))
                except (KeyError, NotYet, Unsound) as lost:
                    raise ValueError(f"there is no code of {version}: {lost}") from None
            return self._modules[version]

    def env(self, version: str) -> dict[str, Any]:
        """Exactly what a Version declares (ABI-2)."""
        declared = queries.environment(self._state(), version)
        return declared.variables | {name: self._binding(uid) for name, uid in declared.bindings.items()}

    def code(self, uid: str, version: str) -> Code:
        """What a context of a Workflow runs on a Version; nothing that could be run where that is lost."""
        workflow = queries.workflow(self._state(), uid)
        if workflow is None:
            return Code("", {})
        try:
            return NodeCode(workflow.class_name, self.env(version), self.module(version))
        except (KeyError, ValueError):
            return Code("", {})

    def exports(self, source: str, name: str) -> Mapping[str, bool] | None:
        """Of each export of a module, whether it is a Workflow class; None where it is broken (ABI-1)."""
        found = JavaScript(source, name)()
        return inspect(found) if found else None
