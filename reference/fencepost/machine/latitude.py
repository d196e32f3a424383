"""The points that the source leaves open and on which the reference has to take one choice.

Each field is one open clause of the catalogue, with its admissible choices; the first is the reference's.
Points that are open in the *order* of things (how late a Host wakes, whether it starts one more context) are
no fields: there the Host, or a judge, chooses which action to apply. The last group is no business of the
machine: the Host's runtime reads it.
"""

from dataclasses import dataclass, field, fields
from typing import Any


def _open(clause: str, *choices: str) -> Any:
    return field(default=choices[0], metadata={"clause": clause, "choices": choices})


@dataclass(frozen=True)
class Latitude:
    """One admissible choice for each open point."""

    event_look_up: str = _open("DOC-12", "validate-first", "look-up-first")
    create_look_up: str = _open("DOC-12a", "validate-first", "look-up-first")
    handover_before_parked: str = _open("EVT-10", "handed-over", "queue-full")
    send_while_ending: str = _open(
        "TRM-6a", "accepted-and-purged", "held-back", "instance-terminal", "queue-full"
    )
    terminate_after_settling: str = _open("TRM-6b", "own-outcome", "terminated")
    awake_status: str = _open("STA-1", "parked", "queued", "running")
    retry_pending_status: str = _open("DO-9", "sleeping", "queued", "running")
    final_rejection: str = _open("DO-9a", "same-context", "fresh-context")
    invalid_result: str = _open("DO-9b", "failed-attempt", "type-error")
    lost_attempt: str = _open("DO-11", "not-counted", "counted")
    wait_match: str = _open("WFE-7a", "same-context", "fresh-context")
    two_replays: str = _open("STP-10", "replay", "mismatch")
    replay_beside_new: str = _open("STP-10a", "runs", "mismatch")
    misfit_overlap: str = _open("STP-10c", "mismatch", "type-error")
    misfit_beyond_limit: str = _open("STP-10d", "type-error", "limit")
    unawaited_replay: str = _open("STP-10e", "settles", "mismatch")
    leftover_step: str = _open("STP-11", "goes-on", "mismatch")
    unknown_keys: str = _open("STP-15", "type-error", "ignored")
    at_lifetime_end: str = _open("LIF-2", "lifetime-wins", "outcome-wins")
    sleep_beyond_lifetime: str = _open("LIF-3", "parked", "ends-at-once")
    stop_after_lifetime: str = _open("LIF-5a", "decided-outcome", "lifetime-exceeded")
    terminate_after_lifetime: str = _open("LIF-5b", "terminated", "errored")
    send_after_lifetime: str = _open("LIF-5c", "instance-terminal", "accepted-and-purged")
    expired_lease: str = _open("PUB-3", "refused", "committed")
    after_retention: str = _open("RET-2", "held", "forgotten")
    retention_from: str = _open("RET-4", "decision", "publication")
    overlapping_contexts: str = _open("CTX-4", "overlapping", "after-stop")
    sleep_at_deadline: str = _open("SLP-6", "woken", "parked")

    unprovable_terminate: str = _open("TRM-6", "rejected", "unanswered")
    bad_argument: str = _open("STP-4b", "rejected", "thrown")
    current_turn: str = _open("STP-6a", "turn-completes", "stops-at-once")
    park_after: str = _open("STP-10b", "after-turn", "at-once")
    overlapped_effect: str = _open("STP-10f", "not-started", "started")
    sleep_of_a_do: str = _open("STP-10g", "document", "undefined")
    bound_of_properties: str = _open("DOC-13", "every-level", "root-only")
    first_result: str = _open("DOC-14", "decoded-copy", "live-object")
    unfit_root: str = _open("DOC-11a", "invalid-params", "document-too-large")
    broken_module: str = _open("ABI-5", "run-threw", "host-fault")
    extra_contexts: str = _open("CTX-3a", "none", "more")
    error_message: str = _open("BND-10", "absent", "present")
    bad_id: str = _open("BND-9", "type-error", "other-rejection")
    bad_id_look_up: str = _open("BND-9a", "unknown-instance", "other-rejection")
    bad_payload: str = _open("DOC-11", "type-error", "other-rejection")
    while_deleting: str = _open("STA-1a", "answers", "refuses")
    not_ready: str = _open("RDY-1", "rejected", "accepted-queued")
    clock: str = _open("TIM-1", "finer", "whole-seconds")
    counts_after_retention: str = _open("OBS-3", "counted", "not-counted")

    def __post_init__(self) -> None:
        for each in fields(self):
            if getattr(self, each.name) not in each.metadata["choices"]:
                raise ValueError(f"{each.name} must be one of {', '.join(each.metadata['choices'])}")


REFERENCE = Latitude()
