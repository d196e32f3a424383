"""What the entries of a schedule made visible, for a judge that is not told what to expect.

| entry | what is seen |
|---|---|
| a call, `await` | its `Answer`, or `NO_ANSWER` if it has not ended once the Host was let run |
| each of the sends of a `sendEvent` with `times` | one observation of its own, under the same index |
| `start` | `IN_FLIGHT` |
| `pending` | `IN_FLIGHT`, or the `Answer` with which the call has ended |
| `dropResponse` | `NO_ANSWER` |
| `effects`, `marks`, `runs`; in a judged scenario `settle` and `recover` | all of the journal's counts |
| `counts`, `ready`, `observe` | what the resource observed |
| `recreateResource` | the new UID |

Everything else only does something, and shows nothing.
"""

from dataclasses import dataclass
from typing import Any

IN_FLIGHT = "in flight"
NO_ANSWER = "no answer"


@dataclass(frozen=True)
class Observation:
    """What the entry at `index` showed; real seconds since the scenario began frame it, for a Host whose
    clock the kit does not hold."""

    index: int
    word: str
    answer: Any
    began: float = 0.0
    ended: float = 0.0
