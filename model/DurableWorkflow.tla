------------------------- MODULE DurableWorkflow -------------------------
(***************************************************************************)
(* What callers of one Workflow resource may observe, and nothing about    *)
(* how a Host brings it about.                                             *)
(*                                                                         *)
(* Modelled: the resource's UID and the phases of its deletion; for each   *)
(* id the seven statuses, whether application code may still run, the      *)
(* recorded outcome of every step, the inbox with the acceptance order,    *)
(* where the present instant lies against the registered deadline and      *)
(* against the end of the lifetime, and the terminal outcome, first        *)
(* decided and then published.                                             *)
(*                                                                         *)
(* Not modelled: owners, tokens, leases, crashes, retries (they are the    *)
(* business of the modules that refine this one), documents, the text of   *)
(* errors, Versions, the bounds of the inbox, lengths of time.             *)
(*                                                                         *)
(* Clauses: BND-3 BND-5 EVT-1 EVT-2 EVT-6 EVT-7 WFE-2 WFE-3 WFE-5 WFE-6    *)
(* WFE-8 WFE-11 SLP-2 DO-10 LIF-1 LIF-5 PUB-1 TRM-3 TRM-4 TRM-6 GRT-3      *)
(* DEL-2 DEL-3 DEL-4 DEL-7 RET-1                                           *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Ids,        \* instance ids
  Steps,      \* step names
  Types,      \* event types
  Values,     \* numbers that a recorded success may carry
  MaxUid,     \* how many times the name may be created
  MaxEvents   \* how many events one instance may be sent

VARIABLES
  uid,        \* the UID that the name has, or had last
  phase,      \* "open", "closing" or "free": the resource under the name
  inst        \* for each id what can be seen of it

vars == <<uid, phase, inst>>

Parked == {"sleeping", "waiting"}
Ended == {"complete", "errored", "terminated"}
Moving == {"queued", "running"} \cup Parked
Reasons == {"run_threw", "step_failed", "step_limit_exceeded", "lifetime_exceeded",
            "step_definition_mismatch"}
Ends == Reasons \cup {"complete", "terminated"}

StatusOf(end) == IF end \in Reasons THEN "errored" ELSE end

NoOutcome == <<"none", 0, "">>
Recorded == {<<"done", v, "">> : v \in Values} \cup {<<"failed", 0, "">>}
Matched(e) == <<"event", e[1], e[2]>>

\* What is seen of an id that holds nothing, and of one that was just created.
Unknown == [status |-> "unknown", code |-> FALSE, steps |-> [s \in Steps |-> NoOutcome],
            inbox |-> <<>>, accepted |-> 0, deadline |-> "off", over |-> FALSE, end |-> "none"]
Fresh == [Unknown EXCEPT !.status = "queued"]

\* An instance that can still move, and one whose code may still do so.
Live(i) == inst[i].status \in Moving /\ inst[i].end = "none"
Works(i) == Live(i) /\ phase = "open" /\ ~inst[i].over

Put(i, record) == inst' = [inst EXCEPT ![i] = record] /\ UNCHANGED <<uid, phase>>

\* The statuses that an instance without code may show beside a registered deadline (STA-1).
Quiet(deadline) == {"queued"} \cup (IF deadline = "off" THEN {} ELSE Parked)
\* The status after something was recorded: running code keeps it so, else the instance is awake (STA-1).
Awake(r) == IF r.code THEN {r.status} ELSE {r.status, "queued"}

Oldest(inbox, y) == {k \in 1..Len(inbox) : inbox[k][2] = y /\ \A j \in 1..(k - 1) : inbox[j][2] # y}
Without(inbox, k) == SubSeq(inbox, 1, k - 1) \o SubSeq(inbox, k + 1, Len(inbox))

Init ==
  /\ uid = 1
  /\ phase = "open"
  /\ inst = [i \in Ids |-> Unknown]

Create(i) ==
  /\ phase = "open"
  /\ inst[i].status = "unknown"
  /\ Put(i, Fresh)

\* A context starts.
Run(i) ==
  /\ Works(i)
  /\ ~inst[i].code
  /\ Put(i, [inst[i] EXCEPT !.code = TRUE, !.status = "running"])

\* The last context stops, and nothing was decided.
Halt(i) ==
  /\ Live(i)
  /\ inst[i].code
  /\ \E status \in Quiet(inst[i].deadline) :
       Put(i, [inst[i] EXCEPT !.code = FALSE, !.status = status])

\* A sleep, a wait or a retry's delay is registered: from now on its deadline is ahead, or passed by unseen.
Register(i) ==
  /\ Works(i)
  /\ inst[i].code
  /\ inst[i].deadline = "off"
  /\ \E deadline \in {"ahead", "now", "past"} : Put(i, [inst[i] EXCEPT !.deadline = deadline])

\* A step gets its outcome; one with a deadline not before it, a failure with a deadline (a timeout) only after it.
Finish(i, s) ==
  /\ Works(i)
  /\ inst[i].steps[s] = NoOutcome
  /\ inst[i].deadline # "ahead"
  /\ inst[i].deadline # "off" \/ inst[i].code
  /\ \E outcome \in Recorded, status \in Awake(inst[i]) :
       /\ outcome[1] = "failed" => inst[i].deadline \in {"off", "past"}
       /\ Put(i, [inst[i] EXCEPT !.steps[s] = outcome, !.deadline = "off", !.status = status])

\* A retry's delay has passed.
Ready(i) ==
  /\ Works(i)
  /\ inst[i].deadline \in {"now", "past"}
  /\ \E status \in Awake(inst[i]) : Put(i, [inst[i] EXCEPT !.deadline = "off", !.status = status])

\* A wait takes the oldest event of its type out of the inbox.
Consume(i, s) ==
  /\ Works(i)
  /\ inst[i].code
  /\ inst[i].deadline = "off"
  /\ inst[i].steps[s] = NoOutcome
  /\ \E y \in Types : \E k \in Oldest(inst[i].inbox, y) :
       Put(i, [inst[i] EXCEPT !.steps[s] = Matched(inst[i].inbox[k]), !.inbox = Without(@, k)])

\* An event is accepted into the inbox, or after the decision to be purged.
Accept(i, y) ==
  /\ phase = "open"
  /\ inst[i].accepted < MaxEvents
  /\ \/ /\ Works(i)
        /\ Put(i, [inst[i] EXCEPT !.accepted = @ + 1, !.inbox = Append(@, <<inst[i].accepted + 1, y>>)])
     \/ /\ inst[i].status \in Moving
        /\ inst[i].end # "none"
        /\ Put(i, [inst[i] EXCEPT !.accepted = @ + 1])

\* An event is accepted by the wait that is registered for it, at its deadline's own instant at the latest.
HandOver(i, s, y) ==
  /\ Works(i)
  /\ inst[i].accepted < MaxEvents
  /\ inst[i].steps[s] = NoOutcome
  /\ inst[i].deadline \in {"ahead", "now"}
  /\ Oldest(inst[i].inbox, y) = {}
  /\ \E status \in Awake(inst[i]) :
       Put(i, [inst[i] EXCEPT !.accepted = @ + 1, !.deadline = "off", !.status = status,
                              !.steps[s] = Matched(<<inst[i].accepted + 1, y>>)])

\* The terminal outcome is fixed; it is published at once where no code is left.
Decide(i, end) ==
  /\ Live(i)
  /\ end # "terminated" => (end = "lifetime_exceeded") = inst[i].over
  /\ end \notin {"terminated", "lifetime_exceeded"} => Works(i) /\ inst[i].code
  /\ Put(i, [inst[i] EXCEPT !.end = end, !.deadline = "off", !.over = FALSE,
                            !.status = IF inst[i].code THEN "running" ELSE StatusOf(end),
                            !.inbox = IF inst[i].code THEN @ ELSE <<>>])

\* The last context is stopped, and the outcome becomes visible. Where retention counts from the decision it may
\* be over by then (RET-4).
Publish(i) ==
  /\ inst[i].code
  /\ inst[i].end # "none"
  /\ \/ Put(i, [inst[i] EXCEPT !.code = FALSE, !.status = StatusOf(inst[i].end), !.inbox = <<>>])
     \/ Put(i, Unknown)

\* Time passes: towards the deadline, over the end of the lifetime.
Later(deadline) ==
  CASE deadline = "ahead" -> {"ahead", "now"} [] deadline = "now" -> {"past"} [] OTHER -> {deadline}

Time(i) ==
  /\ Live(i)
  /\ \E deadline \in Later(inst[i].deadline), over \in {inst[i].over, TRUE} :
       Put(i, [inst[i] EXCEPT !.deadline = deadline, !.over = over])

\* The retention of a terminal instance is over.
Forget(i) ==
  /\ inst[i].status \in Ended
  /\ Put(i, Unknown)

\* DELETE: close, and once no code is left purge; then the name is free for a new UID.
Close ==
  /\ phase = "open"
  /\ phase' = "closing"
  /\ UNCHANGED <<uid, inst>>

Purge ==
  /\ phase = "closing"
  /\ \A i \in Ids : ~inst[i].code
  /\ phase' = "free"
  /\ inst' = [i \in Ids |-> Unknown]
  /\ UNCHANGED uid

Recreate ==
  /\ phase = "free"
  /\ uid < MaxUid
  /\ uid' = uid + 1
  /\ phase' = "open"
  /\ UNCHANGED inst

\* What brings an instance nearer to its end.
Advance(i) ==
  \/ \E s \in Steps : Finish(i, s)
  \/ \E s \in Steps : Consume(i, s)
  \/ \E end \in Ends : Decide(i, end)
  \/ Publish(i)

Next ==
  \/ \E i \in Ids : Create(i)
  \/ \E i \in Ids : Run(i)
  \/ \E i \in Ids : Halt(i)
  \/ \E i \in Ids : Register(i)
  \/ \E i \in Ids : Ready(i)
  \/ \E i \in Ids : Advance(i)
  \/ \E i \in Ids, y \in Types : Accept(i, y)
  \/ \E i \in Ids, s \in Steps, y \in Types : HandOver(i, s, y)
  \/ \E i \in Ids : Time(i)
  \/ \E i \in Ids : Forget(i)
  \/ Close
  \/ Purge
  \/ Recreate

Spec == Init /\ [][Next]_vars

\* Every instance of an open resource moves on for ever or ends: a Host that keeps one still is no Host.
FairSpec == Spec /\ \A i \in Ids : WF_vars(phase = "open" /\ Advance(i))

-----------------------------------------------------------------------------
\* Shape (BND-5): what is seen has the seven statuses, and an outcome where there is one.
Shape ==
  /\ uid \in 1..MaxUid
  /\ phase \in {"open", "closing", "free"}
  /\ \A i \in Ids :
       /\ inst[i].status \in {"unknown"} \cup Moving \cup Ended
       /\ inst[i].deadline \in {"off", "ahead", "now", "past"}
       /\ inst[i].end \in Ends \cup {"none"}

\* StoppedFirst (PUB-1, TRM-1, TRM-2): no code runs while a parked or terminal status is visible.
StoppedFirst == \A i \in Ids : inst[i].status \in Parked \cup Ended => ~inst[i].code

\* EmptyAtTheEnd (EVT-6): nothing is left in the inbox of a terminal instance.
EmptyAtTheEnd == \A i \in Ids : inst[i].status \in Ended => inst[i].inbox = <<>>

\* OneWait (WFE-2): no event serves two waits, and none is both queued and consumed.
OneWait ==
  \A i \in Ids :
    LET taken(s) == inst[i].steps[s]
        queued == {inst[i].inbox[k][1] : k \in 1..Len(inst[i].inbox)}
    IN  /\ \A s, t \in Steps :
             taken(s)[1] = "event" /\ taken(t)[1] = "event" /\ s # t => taken(s)[2] # taken(t)[2]
        /\ \A s \in Steps : taken(s)[1] = "event" => taken(s)[2] \notin queued

\* InOrder (WFE-8): no event is consumed before an older one of its type.
InOrder ==
  \A i \in Ids, s \in Steps :
    inst[i].steps[s][1] = "event" =>
      \A k \in 1..Len(inst[i].inbox) :
        inst[i].inbox[k][2] = inst[i].steps[s][3] => inst[i].inbox[k][1] > inst[i].steps[s][2]

\* FreeMeansEmpty (DEL-3, DEL-7): a free name holds nothing, so a new UID starts empty.
FreeMeansEmpty == phase = "free" => \A i \in Ids : inst[i] = Unknown

\* Once (GRT-3, STP-3): an outcome that was recorded never changes while the instance is held.
Once ==
  [][\A i \in Ids, s \in Steps :
       inst[i].steps[s] # NoOutcome =>
         inst'[i].steps[s] = inst[i].steps[s] \/ inst'[i].status = "unknown"]_vars

\* Final (TRM-3, TRM-6): what was decided never changes while the instance is held.
Final ==
  [][\A i \in Ids :
       /\ inst[i].end # "none" => inst'[i].end = inst[i].end \/ inst'[i].status = "unknown"
       /\ inst[i].status \in Ended => inst'[i].status \in {inst[i].status, "unknown"}]_vars

\* NothingAfterTheEnd (LIF-5, DEL-5): past the lifetime or the close nothing is recorded, and none completes.
NothingAfterTheEnd ==
  [][\A i \in Ids :
       inst[i].over \/ phase # "open" =>
         /\ inst'[i].steps = inst[i].steps \/ inst'[i].status = "unknown"
         /\ inst[i].end = "none" => inst'[i].end # "complete"]_vars
=============================================================================
