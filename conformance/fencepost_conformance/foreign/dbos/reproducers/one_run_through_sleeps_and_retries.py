"""CTX-3, DO-5, SLP-2: a workflow function is called once, and stays in memory through a sleep and a retry.

The Form wants a fresh context behind each future sleep, and for each retry. DBOS keeps the call that it has,
and calls the function again only after a crash: so its documentation has it.
"""

import asyncio
import os
import tempfile

from dbos import DBOS

calls, attempts = [], []


async def sometimes() -> str:
    attempts.append(len(calls))
    if len(attempts) < 3:
        raise RuntimeError("not yet")
    return "done"


@DBOS.workflow()
async def sleeps_and_retries() -> str:
    calls.append(os.getpid())
    await DBOS.sleep_async(1)
    options = {"retries_allowed": True, "max_attempts": 3, "interval_seconds": 0.1}
    return await DBOS.run_step_async(options, sometimes)


async def main(folder: str) -> None:
    DBOS(config={"name": "calls", "system_database_url": f"sqlite:///{folder}/dbos", "log_level": "CRITICAL"})
    DBOS.launch()
    handle = await DBOS.start_workflow_async(sleeps_and_retries)
    print("result:", await handle.get_result())
    print("the Form expects: calls >= 4, one for the start, the sleep and each retry")
    print("seen:             calls =", len(calls), "and all attempts in call", attempts)
    DBOS.destroy()


with tempfile.TemporaryDirectory() as place:
    asyncio.run(main(place))
