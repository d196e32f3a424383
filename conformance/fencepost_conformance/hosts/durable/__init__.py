"""What `reference-durable` is made of beside its adapter: a board, a worker that can be steered, and a probe.

| module | runs in | does |
|---|---|---|
| `board` | the kit | listens to contexts, keeps their reports for the journal, and steers the worker |
| `database` | the kit | makes a database for one adapter, and drops it |
| `worker` | each worker process | the reference's worker, with traps, and rounds only while it is let run |
| `management` | each worker process | Host API v2 over HTTP, and a steward that works only when it is let |
| `probe` | each context | the probe, with a journal that reports over a socket |
"""
