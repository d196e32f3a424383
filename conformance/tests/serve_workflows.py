"""Workflow classes that the tests serve; what an instance does is named in its params."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from fencepost import Step, WorkflowEvent


class Program:
    """Calls the method that `params["do"]` names."""

    def __init__(self, env: Mapping[str, Any]) -> None:
        self.env = env

    async def run(self, event: WorkflowEvent, step: Step) -> Any:
        params = event.params or {}
        return await getattr(self, params.get("do", "wait"))(params, step)

    async def wait(self, params: Mapping[str, Any], step: Step) -> Any:
        return await step.wait_for_event("w", type="go", timeout_seconds=3600)

    async def nap(self, params: Mapping[str, Any], step: Step) -> Any:
        await step.sleep("s", 3600)

    async def quick(self, params: Mapping[str, Any], step: Step) -> Any:
        await step.do("a", lambda: {"n": 1})
        return {"got": params.get("with"), "env": dict(self.env)}

    async def block(self, params: Mapping[str, Any], step: Step) -> Any:
        await step.do("b", lambda: time.sleep(3600))

    async def retry(self, params: Mapping[str, Any], step: Step) -> Any:
        policy = {"maxAttempts": 2, "initialDelaySeconds": 1}
        await step.do("fails", lambda: 1 / 0, policy)

    async def die_once(self, params: Mapping[str, Any], step: Step) -> Any:
        def effect() -> None:
            if not os.path.exists(params["mark"]):
                with open(params["mark"], "x"):
                    os._exit(1)

        await step.do("dies", effect)


class NoWorkflow:
    """Has no `run`."""
