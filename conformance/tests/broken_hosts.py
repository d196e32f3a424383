"""Hosts with one rule broken each, for tests of what is said about a failure."""

from __future__ import annotations

from fencepost.host.managed import ManagedHost
from fencepost.machine import Slot, Transition
from fencepost.machine.actions import Action, Terminate
from fencepost.machine.records import evolve
from fencepost.machine.state import Instance
from fencepost_conformance.hosts.reference import ReferenceAdapter


class TerminatedTooEarly(ManagedHost):
    """Publishes `terminated` before the stop is proven."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        state = made.state
        if isinstance(action, Terminate) and isinstance(state, Instance) and state.decision is not None:
            published = evolve(state, decision=None, terminal=state.decision, terminal_at=action.now)
            return Transition(published, made.reply, made.clauses)
        return made


class NewestFirst(ManagedHost):
    """Gives an event to the later wait: the newest match is taken, not the oldest."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(slot, Instance) and len(slot.inbox) > 1:
            turned = super().transition(evolve(slot, inbox=slot.inbox[::-1]), action)
            state = turned.state
            if isinstance(state, Instance):
                state = evolve(state, inbox=tuple(sorted(state.inbox, key=lambda event: event.number)))
            return Transition(state, turned.reply, turned.clauses)
        return super().transition(slot, action)


def terminated_too_early() -> ReferenceAdapter:
    """An adapter for `python:...:terminated_too_early`."""
    return ReferenceAdapter(TerminatedTooEarly)


def newest_first() -> ReferenceAdapter:
    """An adapter for `python:...:newest_first`."""
    return ReferenceAdapter(NewestFirst)
