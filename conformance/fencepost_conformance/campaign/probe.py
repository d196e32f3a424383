"""The probe as a worker's context has it here: its journal is reached over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..probe import interpreter
from ..remote_journal import RemoteJournal


class Probe(interpreter.Probe):
    """The Workflow class."""

    def __init__(self, env: Mapping[str, Any]) -> None:
        super().__init__({"VERSION": env["VERSION"], "JOURNAL": RemoteJournal(env["JOURNAL"])})
