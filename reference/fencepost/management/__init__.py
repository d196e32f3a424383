"""Management: Workers, bundles, Versions, Deployments and Workflows as one pure machine.

`apply(state, action)` answers a caller's `Request` as the management API does, takes the reports of the
data plane, and moves Operations on; `enabled(state, now)` lists the moves that need no report. The machine
covers what the chapters RES, OBS, RDY and DEL ask of a Host, and of the four Forms beside DurableWorkflow
what a deployment needs. It has no clock, no randomness and no I/O: instants and fresh ids arrive inside the
actions, so that the same machine can stand behind a driver in process, an HTTP face, or a database
transaction.
"""

from fencepost.management.actions import (
    ABSENT,
    Action,
    Expire,
    Illegal,
    Living,
    Observe,
    Progress,
    Purged,
    Reply,
    Request,
    Retired,
    Transition,
    Verify,
    VerifyBundle,
)
from fencepost.management.bundles import File, Manifest
from fencepost.management.machine import STATUSES, apply, enabled
from fencepost.management.state import Operation, Resource, Rules, State

__all__ = [
    "ABSENT",
    "STATUSES",
    "Action",
    "Expire",
    "File",
    "Illegal",
    "Living",
    "Manifest",
    "Observe",
    "Operation",
    "Progress",
    "Purged",
    "Reply",
    "Request",
    "Resource",
    "Retired",
    "Rules",
    "State",
    "Transition",
    "Verify",
    "VerifyBundle",
    "apply",
    "enabled",
]
