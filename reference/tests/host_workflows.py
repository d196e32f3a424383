"""Workflow classes that run in processes of their own; tests name what each instance does in its params.

What they do outside of the record they write, one word a line, into a file of their instance.
"""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fencepost.workflow import Step, WorkflowEvent, deferred, next_turn, start, tick

if "FENCEPOST_TEST_BREAK" in os.environ:
    raise {"error": RuntimeError, "exit": SystemExit}[os.environ["FENCEPOST_TEST_BREAK"]]("on purpose")

evaluations = 0


class Log:
    """The file of one instance."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, word: object) -> None:
        with self.path.open("a") as file:
            file.write(f"{word}\n")

    @property
    def words(self) -> list[str]:
        return self.path.read_text().split() if self.path.exists() else []


class Program:
    """Calls the method that `params["do"]` names."""

    def __init__(self, env: Mapping[str, Any]) -> None:
        self.folder = Path(env["FOLDER"])

    async def run(self, event: WorkflowEvent, step: Step) -> Any:
        assert event.params is not None
        self.log = Log(self.folder / event.instance_id)
        return await getattr(self, event.params["do"])(event.params, step)

    async def careful(self, params: Mapping[str, Any], step: Step) -> Any:
        self.log("start")
        try:
            await step.sleep("s", params["seconds"])
        except BaseException:
            self.log("caught")
            raise
        finally:
            self.log("finally")
        self.log("end")

    async def blocked_effect(self, params: Mapping[str, Any], step: Step) -> Any:
        def effect() -> None:
            try:
                self.log(os.getpid())
                while True:
                    signal.pause()
            except BaseException:
                self.log("caught")
                raise
            finally:
                self.log("finally")

        await step.do("a", effect)

    async def blocked_async_effect(self, params: Mapping[str, Any], step: Step) -> Any:
        async def effect() -> None:
            try:
                self.log(os.getpid())
                await asyncio.Event().wait()
            finally:
                self.log("finally")

        await step.do("a", effect)

    async def loop(self, params: Mapping[str, Any], step: Step) -> Any:
        self.log(os.getpid())
        while True:
            pass

    async def awaits_nothing(self, params: Mapping[str, Any], step: Step) -> Any:
        self.log(os.getpid())
        await deferred()[0]

    async def dies_once(self, params: Mapping[str, Any], step: Step) -> Any:
        def effect() -> dict[str, Any]:
            self.log("effect")
            if len(self.log.words) == 1:
                os._exit(7)
            return {"effects": len(self.log.words)}

        return await step.do("a", effect)

    async def nonsense_once(self, params: Mapping[str, Any], step: Step) -> Any:
        self.log(os.getpid())
        if len(self.log.words) == 1:
            for descriptor in range(3, 64):
                try:
                    is_socket = stat.S_ISSOCK(os.fstat(descriptor).st_mode)
                except OSError:
                    continue
                if is_socket:
                    os.write(descriptor, params["line"].encode() + b"\n")
            while True:
                signal.pause()
        return {"fine": True}

    async def throws(self, params: Mapping[str, Any], step: Step) -> Any:
        kinds: dict[str, type[BaseException]] = {
            each.__name__: each
            for each in (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError, MemoryError)
        }
        if params["where"] == "effect":

            async def effect() -> None:
                raise kinds[params["kind"]]("on purpose")

            await step.do("a", effect)
        raise kinds[params["kind"]]("on purpose")

    async def asynchronous(self, params: Mapping[str, Any], step: Step) -> Any:
        async def double(number: int) -> int:
            await asyncio.sleep(0)
            return 2 * number

        async def effect() -> dict[str, Any]:
            one, (two, resolve, _) = start(double(1)), deferred()
            resolve(4)
            await next_turn()
            await tick(1)
            return {"sum": await one + await two + sum(await asyncio.gather(double(3), double(4)))}

        def promised() -> Any:
            async def later() -> dict[str, Any]:
                await next_turn()
                return {"promised": True}

            return start(later())

        first = await step.do("async", effect)
        second = await step.do("promised", promised)
        return {**(first or {}), **(second or {})}

    async def two_effects(self, params: Mapping[str, Any], step: Step) -> Any:
        def second() -> None:
            self.log(os.getpid())
            while True:
                signal.pause()

        await step.do("a", lambda: {"n": 1})
        await step.do("b", second)

    async def two_events(self, params: Mapping[str, Any], step: Step) -> Any:
        first = await step.wait_for_event("w1", type="go", timeout_seconds=60)
        second = await step.wait_for_event("w2", type="go", timeout_seconds=60)
        return {"got": [first, second]}

    async def retried(self, params: Mapping[str, Any], step: Step) -> Any:
        def effect() -> dict[str, Any]:
            self.log(os.getpid())
            if len(self.log.words) < 3:
                raise RuntimeError("not yet")
            return {}

        await step.do("a", effect, {"maxAttempts": 3})
        return {"attempts": len(self.log.words), "contexts": len(set(self.log.words))}

    async def timed_out(self, params: Mapping[str, Any], step: Step) -> Any:
        try:
            await step.wait_for_event("w", type="go", timeout_seconds=1)
        except Exception as error:
            return {"name": getattr(error, "name", None)}
        return {}

    async def fresh(self, params: Mapping[str, Any], step: Step) -> Any:
        global evaluations
        evaluations += 1
        await step.do("a", lambda: None, {"maxAttempts": 1})
        await step.wait_for_event("w", type="go", timeout_seconds=60)
        return {"evaluations": evaluations}

    async def returns(self, params: Mapping[str, Any], step: Step) -> Any:
        return {"number": 7, "params": params}

    async def grandchild(self, params: Mapping[str, Any], step: Step) -> Any:
        """An effect starts a process of its own and waits for it."""

        def effect() -> None:
            process = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
            self.log(process.pid)
            process.wait()

        await step.do("a", effect)

    async def hopeless(self, params: Mapping[str, Any], step: Step) -> Any:
        """Every context dies before it has committed anything."""
        self.log("start")
        os._exit(1)
