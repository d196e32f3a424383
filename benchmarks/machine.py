"""Transitions per second of `fencepost.machine.apply` on a mixed stream of actions, on one core.

Run ``python benchmarks/machine.py``. The stream is one instance's life, over and over: create, claim,
steps of each kind with replays, events, waits, a retry, status reads, refusals, a crash, settlement.
Each action is built inside the timed loop, since every user of the machine builds them.
"""

import time
from collections.abc import Iterator

from fencepost.machine import Rules, Slot, Vacant, apply
from fencepost.machine.actions import (
    Action,
    BeginStep,
    Claim,
    CommitAttempt,
    Crash,
    Create,
    Get,
    Park,
    ReadStatus,
    SendEvent,
    Settle,
    StopAck,
    Wake,
)

SECONDS = 3.0
DO = {"effect": True, "retry": {"maxAttempts": 3, "initialDelaySeconds": 10, "backoff": "exponential"}}
WAIT = {"type": "go", "timeoutSeconds": 60}


def life() -> Iterator[Action]:
    """One instance from creation to its end: 44 actions, four of them refused."""
    yield Create(0, "i", b"{}")
    yield Get(0)
    yield ReadStatus(0)
    yield Claim(0, 1, "v1", 30_000)
    for index in range(5):
        name = f"step {index}"
        yield BeginStep(0, 1, "do", name, DO)
        yield CommitAttempt(0, 1, b'{"n":1}')
        yield SendEvent(0, "other", b"{}", 30)
    yield BeginStep(0, 1, "do", "flaky", DO)
    yield CommitAttempt(0, 1, None, failed=True)
    yield StopAck(0, 1)
    yield ReadStatus(0)
    yield Wake(5_000)
    yield Wake(10_000)
    yield Claim(10_000, 2, "v1", 40_000)
    yield CommitAttempt(10_000, 1, b"{}")
    for index in range(5):
        yield BeginStep(10_000, 2, "do", f"step {index}", DO)
    yield BeginStep(10_000, 2, "do", "flaky", DO)
    yield CommitAttempt(10_000, 2, b"{}")
    yield BeginStep(10_000, 2, "wait", "w", WAIT)
    yield Park(10_000, 2)
    yield StopAck(10_000, 2)
    yield ReadStatus(20_000)
    yield SendEvent(20_000, "go", b"{}", 30)
    yield Claim(20_000, 3, "v1", 50_000)
    yield Crash(20_000, 3)
    yield Claim(20_000, 4, "v1", 50_000)
    yield BeginStep(20_000, 4, "wait", "w", WAIT)
    yield Settle(20_000, 4, b'{"ok":true}')
    yield StopAck(20_000, 4)
    yield ReadStatus(20_000)
    yield SendEvent(20_000, "go", b"{}", 30)


def main() -> None:
    """Print the figures."""
    slot: Slot = Vacant(Rules())
    count = 0
    began = time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        for _ in range(100):
            slot = Vacant(slot.rules)
            for action in life():
                slot = apply(slot, action).state
                count += 1
    elapsed = time.perf_counter() - began
    actions = sum(1 for _ in life())
    print(f"{count / elapsed:,.0f} transitions/s ({count:,} in {elapsed:.1f} s, {actions} actions a life)")


if __name__ == "__main__":
    main()
