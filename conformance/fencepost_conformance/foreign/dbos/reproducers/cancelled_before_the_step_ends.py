"""TRM-1: `cancel_workflow` returns, and the status reads CANCELLED, while the step's code still runs.

The Form wants the code stopped before `terminated` is published. DBOS interrupts a workflow at the beginning
of its next step: so its documentation has it.
"""

import asyncio
import tempfile

from dbos import DBOS

ticks = []


async def ticking() -> None:
    for _ in range(20):
        ticks.append(1)
        await asyncio.sleep(0.1)


@DBOS.workflow()
async def ticks_for_two_seconds() -> None:
    await DBOS.run_step_async({"name": "ticking"}, ticking)


async def main(folder: str) -> None:
    DBOS(
        config={"name": "cancel", "system_database_url": f"sqlite:///{folder}/dbos", "log_level": "CRITICAL"}
    )
    DBOS.launch()
    handle = await DBOS.start_workflow_async(ticks_for_two_seconds)
    await asyncio.sleep(0.5)
    await DBOS.cancel_workflow_async(handle.get_workflow_id())
    status = (await handle.get_status()).status
    before = len(ticks)
    await asyncio.sleep(1)
    print(f"the Form expects: no tick once the status reads {status}")
    print(f"seen:             {len(ticks) - before} ticks in the second after it")
    DBOS.destroy()


with tempfile.TemporaryDirectory() as place:
    asyncio.run(main(place))
