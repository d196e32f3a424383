"""The machine: immutable state, actions as data, `apply` and `enabled`. No input, output, clock or
randomness.

It is the only code that knows a rule of the Form. The running Host, look-ups, the judge and the comparison
with the model all call it.
"""

from fencepost.machine.latitude import REFERENCE, Latitude
from fencepost.machine.machine import apply, enabled, next_instant
from fencepost.machine.replies import Reply, Transition
from fencepost.machine.state import Instance, Rules, Slot, Vacant, held, parked_on, status_of

__all__ = [
    "REFERENCE",
    "Instance",
    "Latitude",
    "Reply",
    "Rules",
    "Slot",
    "Transition",
    "Vacant",
    "apply",
    "enabled",
    "held",
    "next_instant",
    "parked_on",
    "status_of",
]
