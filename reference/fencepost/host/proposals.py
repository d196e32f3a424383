"""What a proposal of a context is to the machine."""

from fencepost.contexts.execution import Proposal, ProposeCommit, ProposeSettle
from fencepost.machine.actions import Action, CommitAttempt, Park, Settle


def action_of(now: int, token: int, proposal: Proposal) -> Action:
    """What the owner with this token reports at this instant (milliseconds)."""
    if isinstance(proposal, ProposeCommit):
        return CommitAttempt(now, token, proposal.result, proposal.failed)
    if isinstance(proposal, ProposeSettle):
        return Settle(now, token, proposal.result, proposal.threw, proposal.provenance)
    return Park(now, token)
