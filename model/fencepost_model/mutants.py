"""One-line mutants of the machine: a line of a function, and what takes its place.

A comparison that no mutant fails would prove nothing. The function is compiled again with the changed line in
the globals of its own module, and put wherever the machine holds it: under its name in every module that
imported it, and in the tables of `machine.machine`. That is for tests and for looking around, in a process
of its own: while a mutant is planted every user of the machine in this process has it.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fencepost.machine import endings, events, instances, machine, state, steps


class StaleMutant(ValueError):
    """A mutant whose text does not stand exactly once in its function."""


@dataclass(frozen=True)
class Mutant:
    """What is broken, where it must be seen, the function, a text in one of its lines, and its substitute."""

    name: str
    configuration: str
    function: Callable[..., Any]
    text: str
    by: str


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """The machine with the mutant in it, for as long as the block lasts; raises StaleMutant."""
    changed = _changed(mutant)
    undo: list[tuple[Any, Any]] = []
    for table in _holders():
        for key, held in list(table.items()):
            if held is mutant.function:
                table[key] = changed
                undo.append((table, key))
    try:
        yield
    finally:
        for table, key in undo:
            table[key] = mutant.function


def _changed(mutant: Mutant) -> Callable[..., Any]:
    source = textwrap.dedent(inspect.getsource(mutant.function))
    times = source.count(mutant.text)
    if times != 1:
        raise StaleMutant(
            f"{mutant.name}: its text stands {times} times in {mutant.function.__name__}; correct it"
        )
    made: dict[str, Any] = {}
    code = compile(source.replace(mutant.text, mutant.by), f"<{mutant.name}>", "exec")
    exec(code, mutant.function.__globals__, made)  # closures: none of the machine's functions has one
    changed: Callable[..., Any] = made[mutant.function.__name__]
    return changed


def _holders() -> list[dict[Any, Any]]:
    """Everything that may hold a function of the machine: modules and the tables of handlers."""
    names = ("fencepost.machine", "fencepost_model")
    modules = [vars(module) for name, module in list(sys.modules.items()) if name.startswith(names)]
    return [*modules, machine._SLOT, machine._OWNER]


MUTANTS = (
    Mutant(
        "no token is checked at a report (PUB-2)",
        "FencingSmall",
        steps.owning,
        "action.token != instance.owner",
        "False",
    ),
    Mutant(
        "a decided instance is published before its contexts stop (PUB-1)",
        "FencingSmall",
        endings.publish,
        "if decision is None or instance.contexts:",
        "if decision is None:",
    ),
    Mutant(
        "a lost attempt counts as a failed one (DO-12)",
        "FencingSmall",
        endings.lose_owner,
        'instance.rules.latitude.lost_attempt == "not-counted"',
        'instance.rules.latitude.lost_attempt == "counted"',
    ),
    Mutant(
        "a retry goes on in the same context (DO-5)",
        "FencingSmall",
        steps.commit_attempt,
        "Transition(fence(put_step(instance, name, failed)), Parked()",
        "Transition(put_step(instance, name, failed), Parked()",
    ),
    Mutant(
        "one attempt too many (DO-2)",
        "FencingSmall",
        endings.fail_attempt,
        "if failures >= step.policy.maximum_attempts:",
        "if failures > step.policy.maximum_attempts:",
    ),
    Mutant(
        "a retry's delay is forgotten (DO-3)",
        "FencingSmall",
        endings.fail_attempt,
        "deadline=now + delay if delay else None",
        "deadline=None",
    ),
    Mutant(
        "a run that ends with an open step completes (STP-8)",
        "FencingSmall",
        steps.settle,
        "if (context.open is not None and not replayed) or leftover:",
        "if leftover:",
    ),
    Mutant(
        "a genuine step_failed ends as run_threw (ERR-3)",
        "FencingSmall",
        steps.settle,
        '"step_failed" if genuine else "run_threw"',
        '"run_threw"',
    ),
    Mutant(
        "terminate overwrites what was decided (TRM-6)",
        "FencingSmall",
        instances.terminate,
        "if slot.live or _overridden(slot):",
        "if slot.terminal is None:",
    ),
    Mutant(
        "terminate does not fence (TRM-1)",
        "FencingSmall",
        endings.decide,
        "evolve(instance, decision=terminal, owner=0)",
        "evolve(instance, decision=terminal)",
    ),
    Mutant(
        "a parked instance is claimed (SLP-2, DO-10)",
        "FencingSmall",
        instances.claimable,
        "parked_on(instance) is not None",
        "False",
    ),
    Mutant(
        "a new context waits for the stop of the old one",
        "FencingSmall",
        instances.claimable,
        'instance.rules.latitude.overlapping_contexts == "after-stop"',
        "True",
    ),
    Mutant(
        "the owner itself counts as proven stopped (PUB-1)",
        "FencingSmall",
        instances.stop_ack,
        "slot.context(action.token) is None or slot.owner == action.token",
        "slot.context(action.token) is None",
    ),
    Mutant(
        "a crash forgets which step is pending (SLP-1)",
        "FencingSmall",
        endings.fence,
        "return fenced if parked_on(fenced) is not None else evolve(fenced, current=None)",
        "return evolve(fenced, current=None)",
    ),
    Mutant(
        "the newest matching event is taken (WFE-8)",
        "WaitsSmall",
        events.consume,
        "for index, event in enumerate(instance.inbox):",
        "for index, event in reversed(list(enumerate(instance.inbox))):",
    ),
    Mutant(
        "any event is taken (EVT-8)",
        "WaitsSmall",
        events.consume,
        "if event.type == type and (",
        "if event and (",
    ),
    Mutant(
        "a consumed event keeps its bytes (EVT-3)",
        "WaitsSmall",
        events.consume,
        "inbox_bytes=instance.inbox_bytes - event.size",
        "inbox_bytes=instance.inbox_bytes",
    ),
    Mutant(
        "the tie goes to the timeout (WFE-5)",
        "WaitsSmall",
        events._waiting_step,
        "action.now <= step.deadline",
        "action.now < step.deadline",
    ),
    Mutant(
        "an event is handed over after the deadline (WFE-6)",
        "WaitsSmall",
        events._waiting_step,
        "return step if action.now <= step.deadline else None",
        "return step",
    ),
    Mutant(
        "a wait times out at its deadline's own instant (WFE-5)",
        "WaitsSmall",
        instances.due,
        "return now > step.deadline",
        "return now >= step.deadline",
    ),
    Mutant(
        "a sleep wakes after its deadline only (SLP-6)",
        "WaitsSmall",
        instances.due,
        "return now >= step.deadline",
        "return now > step.deadline",
    ),
    Mutant(
        "the bound of the inbox in bytes is exclusive (EVT-4)",
        "WaitsSmall",
        events.send_event,
        "slot.inbox_bytes + action.size > slot.rules.limits.inbox_bytes",
        "slot.inbox_bytes + action.size >= slot.rules.limits.inbox_bytes",
    ),
    Mutant(
        "the inbox holds one event too many (EVT-3)",
        "WaitsSmall",
        events.send_event,
        "len(slot.inbox) >= slot.rules.limits.inbox_events",
        "len(slot.inbox) > slot.rules.limits.inbox_events",
    ),
    Mutant(
        "a full inbox stops a hand-over (EVT-5)",
        "WaitsSmall",
        events.send_event,
        'slot.contexts and slot.rules.latitude.handover_before_parked == "queue-full"',
        "True",
    ),
    Mutant(
        "the inbox outlives its instance (EVT-6)",
        "WaitsSmall",
        endings.publish,
        "inbox=(),  # EVT-6",
        "",
    ),
    Mutant(
        "the lifetime ends one instant later (LIF-2)",
        "WaitsSmall",
        endings.lifetime_over,
        "now < instance.ends_at",
        "now <= instance.ends_at",
    ),
    Mutant(
        "an owner reports past the lifetime (LIF-5)",
        "WaitsSmall",
        machine.apply,
        "elif lifetime_over(slot, action.now):",
        "elif lifetime_over(slot, action.now) and not slot.owner:",
    ),
    Mutant(
        "the end of the lifetime spares parked instances (LIF-1)",
        "WaitsSmall",
        instances.process_lifetime,
        "not lifetime_over(slot, action.now)",
        "not lifetime_over(slot, action.now) or parked_on(slot)",
    ),
    Mutant(
        "a wait that timed out is asked again in a later context (WFE-11)",
        "WaitsSmall",
        instances.wake,
        'late = step._replace(outcome=Failed("wait_timeout"), deadline=None)',
        "late = step._replace(deadline=None)",
    ),
    Mutant(
        "retention ends one second early (RET-1)",
        "WaitsSmall",
        state.retained,
        "return now < instance.terminal_at",
        "return now + MILLISECONDS < instance.terminal_at",
    ),
    Mutant(
        "an id that is held is created again (BND-3)",
        "WaitsSmall",
        instances.create,
        "elif held(slot, action.now):",
        "elif held(slot, action.now) and slot.live:",
    ),
    Mutant(
        "a close leaves the owner in place (DEL-3)",
        "ResourceSmall",
        instances.close,
        "Transition(fence(evolve(slot, closed=True)), Done()",
        "Transition(evolve(slot, closed=True), Done()",
    ),
    Mutant(
        "a purge does not wait for the stop (DEL-3)",
        "ResourceSmall",
        instances.purge,
        "if slot.contexts:",
        "if slot.owner:",
    ),
    Mutant(
        "a closed instance is claimed (DEL-3)",
        "ResourceSmall",
        instances.claimable,
        "not instance.live or instance.closed or",
        "not instance.live or",
    ),
    Mutant(
        "a retry wakes in a resource that is being deleted (DEL-3)",
        "ResourceSmall",
        instances.due,
        "step is None or step.deadline is None or instance.closed",
        "step is None or step.deadline is None",
    ),
    Mutant(
        "a closed resource takes a new instance (DEL-3)",
        "ResourceSmall",
        instances.create,
        "if slot.closed:",
        "if slot.closed and isinstance(slot, Instance):",
    ),
)
