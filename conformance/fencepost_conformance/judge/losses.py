"""What is not told apart where owners may be lost at any moment, so that all of it can be looked at.

Such lives are short, and their Host is the reference. So when an instance was created makes no difference,
and when an event was accepted makes one only to a wait that is on record as begun and not as ended.
"""

from fencepost.machine import Slot, Transition
from fencepost.machine.actions import Action, Create, SendEvent
from fencepost.machine.records import evolve
from fencepost.machine.state import Instance

from .states import FOREVER


def reduced(before: Slot, action: Action, made: Transition) -> Transition:
    """A transition to the state that stands for all that differ from it in nothing that can be seen."""
    after = made.state
    if after is before or not isinstance(after, Instance):
        return made
    if isinstance(action, Create):
        return made._replace(state=evolve(after, created_at=0, ends_at=FOREVER))
    if isinstance(action, SendEvent) and isinstance(before, Instance) and after.inbox != before.inbox:
        *older, event = after.inbox
        if not any(step.kind == "wait" and step.type == event.type and not step.finished
                   for step in after.history.values()):  # fmt: skip
            return made._replace(state=evolve(after, inbox=(*older, event._replace(accepted_at=0))))
    return made
