"""The reference: one pure machine, documents, workflow replay, and the Hosts built on them.

`Host` runs a workflow class under the real clock, each context in a process of its own;
`fencepost.host.node_host` has the same for a class in JavaScript, and `fencepost.host.virtual` the Host with
a clock to move and instruments to break things. `fencepost.machine` answers what must happen.
"""

from fencepost.host.calls import CallError
from fencepost.host.host import Handle, Host
from fencepost.workflow import Step, StepError, WorkflowEvent

__all__ = ["CallError", "Handle", "Host", "Step", "StepError", "WorkflowEvent"]
