"""Each faulty host that concerns fencing or events has a counterpart in the model, or a reason for none.

A counterpart is a weakening of the modules or a one-line mutant of the machine that shows the same fault;
that each of them is caught is tested in the room of the model.
"""

from __future__ import annotations

import pytest
from fencepost_conformance import faults
from fencepost_model import mutants, weakenings

CHAPTERS = ("EVT", "WFE", "PUB", "TRM")

# fault -> a weakening (module: name) or a mutant of the machine
SAME = {
    "inbox-of-1025-events": "the inbox holds one event too many (EVT-3)",
    "inbox-of-1023-events": "Waits: the bound in events excludes itself",
    "inbox-one-byte-too-small": "the bound of the inbox in bytes is exclusive (EVT-4)",
    "inbox-one-byte-too-large": "Waits: no bound in bytes",
    "inbox-never-shrinks": "a consumed event keeps its bytes (EVT-3)",
    "full-inbox-stops-hand-over": "a full inbox stops a hand-over (EVT-5)",
    "leftovers-stay": "the inbox outlives its instance (EVT-6)",
    "any-type-settles": "any event is taken (EVT-8)",
    "newest-first": "the newest matching event is taken (WFE-8)",
    "consumed-events-stay": "Waits: a consumed event stays in the inbox",
    "consumption-forgotten-at-a-restart": "Waits: a consumed event stays in the inbox",
    "lost-before-the-wait": "Waits: an accepted event is lost",
    "deadline-is-the-sweepers": "an event is handed over after the deadline (WFE-6)",
    "deadline-belongs-to-the-timeout": "the tie goes to the timeout (WFE-5)",
    "timeout-at-the-deadline-itself": "a wait times out at its deadline's own instant (WFE-5)",
    "timeout-is-never-recorded": "Waits: timers never ring",
    "timeouts-are-not-recorded": "a wait that timed out is asked again in a later context (WFE-11)",
    "timed-out-wait-swallows": "Waits: a late event is handed over",
    "timeouts-start-again": "Waits: a crash starts the deadline again",
    "order-is-text-after-a-restart": "Waits: the newest event comes first",
    "late-events-are-lost": "Waits: an accepted event is lost",
    "matches-parked-waits-only": "Waits: a wait does not look into the inbox",
    "matches-park-first": "Waits: a wait does not look into the inbox",
    "lost-while-stopping": "Waits: an accepted event is lost",
    "steps-come-before-events": "Waits: the bound in events excludes itself",
    "consumption-cuts-the-wrong-event": "Waits: a consumed event stays in the inbox",
    "sleepers-refuse-events": "Waits: the bound in events excludes itself",
    "terminated-before-the-stop": "Fencing: published at the decision",
    "terminate-overwrites": "Fencing: terminate overwrites what is published",
    "terminated-runs-may-finish": "Fencing: a decision leaves the owner",
    "timers-outlive-the-end": "terminate overwrites what was decided (TRM-6)",
    "sleeping-before-the-stop": "Fencing: running is over when the owner is fenced",
    "waiting-before-the-stop": "Waits: running is over when the owner is fenced",
    "retry-before-the-stop": "Fencing: running is over when the owner is fenced",
    "outcome-before-the-stop": "a decided instance is published before its contexts stop (PUB-1)",
    "lifetime-ends-before-the-stop": "Waits: published at the decision",
    "stale-owners-commit-results": "no token is checked at a report (PUB-2)",
    "late-reports-overwrite": "DurableWorkflow: a second outcome for a finished step",
    "stale-owners-publish-outcomes": "Fencing: no token check at the end",
    "stale-owners-take-events": "no token is checked at a report (PUB-2)",
    "stale-owners-publish-sleep": "no token is checked at a report (PUB-2)",
    "handed-events-in-memory": "Waits: a crash loses the history",
    "consumed-before-recorded": "Waits: a crash loses the history",
    "others-are-dropped": "Waits: an accepted event is lost",
    "kept-for-a-day": "Waits: an accepted event is lost",
    "second-hand-over-overwrites": "DurableWorkflow: a second outcome for a finished step",
    "awaited-types-are-never-refused": "Waits: no bound in events",
    "inbox-forgets-the-rest": "Waits: no bound in bytes",
    "timeouts-two-seconds-early": "a wait times out at its deadline's own instant (WFE-5)",
}

ARGUMENTS = "arguments, documents and error names are not modelled"
CALLS = "how a call is answered is not modelled, only what it does"
STORE = "the store is one: what is durable, and what a restart reads back, is not modelled"
OTHERS = "one instance has one inbox: what instances share is not modelled"
APART = {
    ARGUMENTS: (
        *("types-up-to-255-scalars", "types-of-any-length", "types-counted-in-code-units"),
        *("types-ignore-case", "types-are-normalized", "types-are-trimmed"),
        *("inbox-counts-characters", "inbox-counts-payloads", "payloads-are-wrapped", "no-payload-is-empty"),
        *("timeouts-of-zero", "longer-timeouts", "shorter-timeouts", "timeouts-have-a-default"),
        *("types-have-a-default", "timeouts-are-undefined"),
    ),
    CALLS: (
        *("terminal-is-unknown", "terminal-accepts", "unknown-accepts", "terminate-of-an-ended-fails"),
        *("one-terminate-is-answered", "other-terminates-fail", "success-before-the-stop"),
        *("success-at-the-second-call", "terminate-waits-for-the-run", "code-outlives-its-stop"),
        "waiting-is-never-shown",
    ),
    STORE: (
        *("events-in-memory", "numbers-start-again-at-a-restart", "processed-late-is-late"),
        "equal-events-are-one",
    ),
    OTHERS: ("inboxes-share-their-bound", "events-of-any-instance"),
}

CONCERNED = [each for each in faults.load().values() if each.clause.split("-")[0] in CHAPTERS]


@pytest.mark.parametrize("fault", CONCERNED, ids=lambda fault: fault.name)
def test_each_fault_has_a_counterpart_or_a_reason(fault: faults.Fault) -> None:
    reasons = [reason for reason, names in APART.items() if fault.name in names]
    assert (fault.name in SAME) + len(reasons) == 1, "name its counterpart, or why there is none"


def test_every_counterpart_is_there() -> None:
    known = {f"{each.module}: {each.name}" for each in weakenings.table()}
    known |= {each.name for each in mutants.MUTANTS}
    assert set(SAME.values()) <= known
    names = {each.name for each in CONCERNED}
    assert set(SAME) <= names
    assert {name for listed in APART.values() for name in listed} <= names
