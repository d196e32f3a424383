"""What of the translation needs no DBOS: names, statuses, options, and what a list of steps says."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

STATUSES = {
    "ENQUEUED": "queued",
    "DELAYED": "queued",
    "PENDING": "running",
    "SUCCESS": "complete",
    "ERROR": "errored",
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "errored",
    "CANCELLED": "terminated",
}
TERMINAL = frozenset({"complete", "errored", "terminated"})
BACKOFF_RATES = {"constant": 1.0, "exponential": 2.0}


@dataclass(frozen=True)
class Scenario:
    """Whose instances are meant: `token` is put before their ids, where DBOS is given them."""

    token: str
    journal: str
    version: str

    def workflow_id(self, id: Any) -> Any:
        """The id that DBOS is given: what is no text, or empty, is given as it is."""
        return f"{self.token}/{id}" if isinstance(id, str) and id else id

    def instance_id(self, workflow_id: str) -> str:
        """The id that the caller knows; an id that DBOS issued is known as it is."""
        return workflow_id.removeprefix(f"{self.token}/")


def retries(policy: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a step for a retry policy; DBOS has no bound of one's own on the delay."""
    backoff = policy.get("backoff", "constant")
    return {
        "retries_allowed": True,
        "max_attempts": policy.get("maxAttempts"),
        "interval_seconds": policy.get("initialDelaySeconds", 0),
        "backoff_rate": BACKOFF_RATES.get(backoff, backoff),
    }


def parked(listed: Iterable[Mapping[str, Any]], now: float) -> str:
    """Whether a workflow that is under way runs, sleeps or waits, by the last of its steps on record.

    A sleep is on record with its end from its beginning on. A wait has two numbers: that of its timeout,
    which is recorded like a sleep, and the one before it, which is recorded when the wait is over.
    """
    steps = {each["function_id"]: each for each in listed}
    last = max(steps, default=0)
    if not last or steps[last]["function_name"] != "DBOS.sleep":
        return "running"
    before = steps.get(last - 1)
    if before is None and last > 1:
        return "waiting"
    if before is not None and before["function_name"] == "DBOS.recv":
        return "running"
    return "sleeping" if steps[last]["output"] > now else "running"
