"""The crash campaign: the durable Host is killed thousands of times, and must lose nothing.

    python -m fencepost_conformance.campaign --db crashes.db --kills 2000 --instances 500

Workers and a Host API process share one database. Callers create instances, send them events, look at them
and terminate some, directly and through the API. Meanwhile whatever runs is killed with SIGKILL, at named
points of a worker's way and at random instants, and started again; with `--pauses` workers also stand still
for longer than their lease. Then everything is let come to an end, and what was seen is checked.

| module | holds |
|---|---|
| `plans` | what is drawn from the seed: programs, callers' moves, kills and pauses |
| `worker`, `api`, `probe` | what runs in processes that are killed |
| `processes` | who starts, kills, pauses and restarts them |
| `journal` | which effects were really run, in which process |
| `callers`, `lives` | what is asked of the Host, and what was answered when |
| `database` | a place for one campaign, and what is read from it |
| `checks`, `judged` | what must be true of all that; every instance's life is also put before the judge |
| `faults` | Hosts that break one promise, so that each check is seen to fail |
| `campaign` | the whole of it |

Nothing here knows a rule of the Form but the checks, which say what no Host may show after a crash.
"""
