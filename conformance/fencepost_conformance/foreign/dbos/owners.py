"""The owner of one instance: a process of the engine that has its runs and no others.

DBOS recovers at the start of a process what was under way in the executor of the same id, and puts it on a
queue from which every process of the same application version takes. So an owner has an executor id and a
version of its own: whatever becomes of another one, its runs stay where they are.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...adapter import AdapterFault
from .process import START_SECONDS, Engine, Gone, Shim


class Owner:
    """Keeps a process: when it is gone there is another one at once, as under an operator's supervisor.

    `traps` are those that have not sprung; the next process is told of them before it recovers anything.
    """

    def __init__(self, shim: Shim, folder: Path, name: str, scenario: Mapping[str, Any]) -> None:
        self.traps: list[str] = []
        self.name = name
        self._shim, self._folder, self._scenario = shim, folder, scenario
        self._engine: Engine | None = None
        self._over = False
        self._up: asyncio.Future[Engine] = asyncio.get_running_loop().create_future()
        self._keeping = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        while not self._over:
            engine = self._engine = await Engine.spawned(self._shim, self._folder, self.name, self.traps)
            try:
                if not self._over:
                    await engine.begin(self._scenario)
                    self._up.set_result(engine)
                    await engine.gone()
                    self._up = asyncio.get_running_loop().create_future()
            except Gone:
                pass  # a trap sprang in what it recovered
            except AdapterFault as fault:
                self._up.set_exception(fault)
                self._up.exception()  # also where nobody waits for it
                return
            finally:
                await engine.kill()
            for each in engine.sprung:
                self.traps.remove(each)

    async def engine(self) -> Engine:
        """The process, once it is up; raises AdapterFault."""
        try:
            return await asyncio.wait_for(asyncio.shield(self._up), START_SECONDS)
        except TimeoutError:
            raise AdapterFault(f"there is no process of {self.name} within {START_SECONDS:g} s") from None

    async def trap(self, point: str) -> None:
        """Set a trap, and return once the process knows of it."""
        self.traps.append(point)
        engine = await self.engine()
        try:
            await engine.ask("arm", point=point)
        except Gone:
            await self.engine()  # the next one was told

    async def kill(self) -> None:
        """SIGKILL; another process is on its way."""
        await (await self.engine()).kill()

    async def end(self) -> None:
        """Kill the process for good."""
        self._over = True
        if self._engine is not None:
            await self._engine.kill()
        await self._keeping
