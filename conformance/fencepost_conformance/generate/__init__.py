"""Generated scenarios: programs and schedules that nobody thought of, aimed at the boundaries.

**How it works.** A Hypothesis state machine (`machine`) has a rule for each word of a schedule. A rule plays
its entry at once, on a `Stage`: one `Run` that is kept open, and whose scenario grows by the entry. Programs
come from `programs`; instants to move the clock to come from `deadlines`, which reads them off the reference,
the Host itself where it is ours and one that runs along where it is not. No entry expects anything: a judge
is given what was seen, and says whether any admissible Host may show it (`judging` beside this package).

**A failure** shrinks twice: by Hypothesis, which knows how the scenario was drawn, for a bounded time, and by
`reduction`, which takes pieces out of the document itself. What is left is a scenario of the ordinary format
that can be replayed without any of this. `search` is the whole of it for one Host; `coverage` counts what the
scenarios reached, and `reach` lists what they cannot.
"""
