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
  status,     \* for each id, as all that follow: "unknown", or one of the seven statuses
  code,       \* whether application code may still run
  steps,      \* the recorded outcome of each step
  inbox,      \* the accepted events not consumed, each its number and type
  accepted,   \* how many events were accepted
  deadline,   \* the registered deadline: "off", "ahead", "now" or "past"
  over,       \* whether the lifetime is over, processed or not, of an instance that is not decided
  end         \* the terminal outcome that is decided, or "none"

seen == <<status, code, steps, inbox, accepted, deadline, over, end>>
vars == <<uid, phase, seen>>

Parked == {"sleeping", "waiting"}
Ended == {"complete", "errored", "terminated"}
Moving == {"queued", "running"} \cup Parked
Reasons == {"run_threw", "step_failed", "step_limit_exceeded", "lifetime_exceeded",
            "step_definition_mismatch"}
Ends == Reasons \cup {"complete", "terminated"}

StatusOf(o) == IF o \in Reasons THEN "errored" ELSE o  \* BND-7

NoOutcome == <<"none", 0, "">>
Recorded == {<<"done", v, "">> : v \in Values} \cup {<<"failed", 0, "">>}
Matched(e) == <<"event", e[1], e[2]>>

\* What is seen of an id that holds nothing, and of one that was just created.
Unknown == [status |-> "unknown", code |-> FALSE, steps |-> [s \in Steps |-> NoOutcome],
            inbox |-> <<>>, accepted |-> 0, deadline |-> "off", over |-> FALSE, end |-> "none"]
Fresh == [Unknown EXCEPT !.status = "queued"]

\* An instance that can still move, and one whose code may still do so.
Live(r) == r.status \in Moving /\ r.end = "none"
Works(r) == Live(r) /\ phase = "open" /\ ~r.over  \* LIF-5, DEL-3

\* All that is seen of one id, as one record.
One(i) == [status |-> status[i], code |-> code[i], steps |-> steps[i], inbox |-> inbox[i], accepted |-> accepted[i],
           deadline |-> deadline[i], over |-> over[i], end |-> end[i]]

\* Each variable by itself: where a refining module is checked, most candidates fail at the first.
Put(i, n) ==
  /\ status' = [status EXCEPT ![i] = n.status]
  /\ code' = [code EXCEPT ![i] = n.code]
  /\ end' = [end EXCEPT ![i] = n.end]
  /\ deadline' = [deadline EXCEPT ![i] = n.deadline]
  /\ over' = [over EXCEPT ![i] = n.over]
  /\ accepted' = [accepted EXCEPT ![i] = n.accepted]
  /\ inbox' = [inbox EXCEPT ![i] = n.inbox]
  /\ steps' = [steps EXCEPT ![i] = n.steps]
  /\ UNCHANGED <<uid, phase>>

Nothing ==
  /\ status = [i \in Ids |-> Unknown.status]
  /\ code = [i \in Ids |-> Unknown.code]
  /\ end = [i \in Ids |-> Unknown.end]
  /\ deadline = [i \in Ids |-> Unknown.deadline]
  /\ over = [i \in Ids |-> Unknown.over]
  /\ accepted = [i \in Ids |-> Unknown.accepted]
  /\ inbox = [i \in Ids |-> Unknown.inbox]
  /\ steps = [i \in Ids |-> Unknown.steps]

NothingAfterwards ==
  /\ status' = [i \in Ids |-> Unknown.status]
  /\ code' = [i \in Ids |-> Unknown.code]
  /\ end' = [i \in Ids |-> Unknown.end]
  /\ deadline' = [i \in Ids |-> Unknown.deadline]
  /\ over' = [i \in Ids |-> Unknown.over]
  /\ accepted' = [i \in Ids |-> Unknown.accepted]
  /\ inbox' = [i \in Ids |-> Unknown.inbox]
  /\ steps' = [i \in Ids |-> Unknown.steps]

\* The statuses that an instance without code may show beside a registered deadline (STA-1).
Quiet(d) == {"queued"} \cup (IF d = "off" THEN {} ELSE Parked)
\* The status after something was recorded: running code keeps it so, else the instance is awake (STA-1).
Awake(r) == IF r.code THEN {r.status} ELSE {r.status, "queued"}

Oldest(events, y) ==
  {k \in 1..Len(events) :
     /\ events[k][2] = y
     /\ \A j \in 1..(k - 1) : events[j][2] # y  \* WFE-8
  }
Without(events, k) == SubSeq(events, 1, k - 1) \o SubSeq(events, k + 1, Len(events))

Init ==
  /\ uid = 1
  /\ phase = "open"
  /\ Nothing

Create(i, r) ==
  /\ phase = "open"
  /\ r.status = "unknown"
  /\ Put(i, Fresh)

\* A context starts.
Run(i, r) ==
  /\ Works(r)
  /\ ~r.code
  /\ Put(i, [r EXCEPT !.code = TRUE, !.status = "running"])

\* The last context stops, and nothing was decided.
Halt(i, r) ==
  /\ Live(r)
  /\ r.code
  /\ \E shown \in Quiet(r.deadline) :
       Put(i, [r EXCEPT !.code = FALSE, !.status = shown])

\* A sleep, a wait or a retry's delay is registered: from now on its deadline is ahead, or passed by unseen.
Register(i, r) ==
  /\ Works(r)
  /\ r.code
  /\ r.deadline = "off"
  /\ \E d \in {"ahead", "now", "past"} : Put(i, [r EXCEPT !.deadline = d])

\* A step gets its outcome; one with a deadline not before it, a failure with a deadline (a timeout) only after it.
Finish(i, r, s) ==
  /\ Works(r)
  /\ r.steps[s] = NoOutcome  \* GRT-3
  /\ r.deadline # "ahead"
  /\ r.deadline # "off" \/ r.code
  /\ \E outcome \in Recorded, shown \in Awake(r) :
       /\ outcome[1] = "failed" => r.deadline \in {"off", "past"}
       /\ Put(i, [r EXCEPT !.steps[s] = outcome, !.deadline = "off", !.status = shown])

\* A retry's delay has passed.
Ready(i, r) ==
  /\ Works(r)
  /\ r.deadline \in {"now", "past"}
  /\ \E shown \in Awake(r) : Put(i, [r EXCEPT !.deadline = "off", !.status = shown])

\* A wait takes the oldest event of its type out of the inbox.
Consume(i, r, s) ==
  /\ Works(r)
  /\ r.code
  /\ r.deadline = "off"
  /\ r.steps[s] = NoOutcome
  /\ \E y \in Types : \E k \in Oldest(r.inbox, y) :
       Put(i, [r EXCEPT !.steps[s] = Matched(r.inbox[k]), !.inbox = Without(@, k)])  \* WFE-2

\* An event is accepted into the inbox, or after the decision to be purged.
Accept(i, r, y) ==
  /\ phase = "open"
  /\ r.accepted < MaxEvents
  /\ \/ /\ Works(r)
        /\ Put(i, [r EXCEPT !.accepted = @ + 1, !.inbox = Append(@, <<r.accepted + 1, y>>)])
     \/ /\ r.status \in Moving
        /\ r.end # "none"
        /\ Put(i, [r EXCEPT !.accepted = @ + 1])

\* An event is accepted by the wait that is registered for it, at its deadline's own instant at the latest.
HandOver(i, r, s, y) ==
  /\ Works(r)
  /\ r.accepted < MaxEvents
  /\ r.steps[s] = NoOutcome
  /\ r.deadline \in {"ahead", "now"}
  /\ Oldest(r.inbox, y) = {}
  /\ \E shown \in Awake(r) :
       Put(i, [r EXCEPT !.accepted = @ + 1, !.deadline = "off", !.status = shown,
                        !.steps[s] = Matched(<<r.accepted + 1, y>>)])

\* The terminal outcome is fixed; it is published at once where no code is left.
Decide(i, r, o) ==
  /\ Live(r)  \* TRM-6
  /\ o # "terminated" => (o = "lifetime_exceeded") = r.over
  /\ o \notin {"terminated", "lifetime_exceeded"} => Works(r) /\ r.code
  /\ Put(i, [r EXCEPT !.end = o, !.deadline = "off", !.over = FALSE,
                      !.status = IF r.code THEN "running" ELSE StatusOf(o),
                      !.inbox = IF r.code THEN @ ELSE <<>>])

\* The last context is stopped, and the outcome becomes visible. Where retention counts from the decision it may
\* be over by then (RET-4).
Publish(i, r) ==
  /\ r.code
  /\ r.end # "none"
  /\ \/ Put(i, [r EXCEPT !.code = FALSE, !.status = StatusOf(r.end), !.inbox = <<>>])  \* PUB-1, EVT-6
     \/ Put(i, Unknown)

\* Time passes: towards the deadline, over the end of the lifetime.
Later(d) == CASE d = "ahead" -> {"ahead", "now"} [] d = "now" -> {"past"} [] OTHER -> {d}

Time(i, r) ==
  /\ Live(r)
  /\ \E d \in Later(r.deadline), gone \in {r.over, TRUE} : Put(i, [r EXCEPT !.deadline = d, !.over = gone])

\* The retention of a terminal instance is over.
Forget(i, r) ==
  /\ r.status \in Ended
  /\ Put(i, Unknown)

\* DELETE: close, and once no code is left purge; then the name is free for a new UID.
Close ==
  /\ phase = "open"
  /\ phase' = "closing"
  /\ UNCHANGED <<uid, seen>>

Purge ==
  /\ phase = "closing"
  /\ \A i \in Ids : ~code[i]
  /\ phase' = "free"
  /\ NothingAfterwards  \* DEL-3
  /\ UNCHANGED uid

Recreate ==
  /\ phase = "free"
  /\ uid < MaxUid
  /\ uid' = uid + 1
  /\ phase' = "open"
  /\ UNCHANGED seen

\* What brings an instance nearer to its end.
Advance(i, r) ==
  \/ \E s \in Steps : Finish(i, r, s)
  \/ \E s \in Steps : Consume(i, r, s)
  \/ \E o \in Ends : Decide(i, r, o)
  \/ Publish(i, r)

\* Every action on an instance is given what is seen of it, so that a refining module computes that once.
Move(i, r) ==
  \/ Create(i, r)
  \/ Run(i, r)
  \/ Halt(i, r)
  \/ Register(i, r)
  \/ Ready(i, r)
  \/ Advance(i, r)
  \/ \E y \in Types : Accept(i, r, y)
  \/ \E s \in Steps, y \in Types : HandOver(i, r, s, y)
  \/ Time(i, r)
  \/ Forget(i, r)

Next ==
  \/ \E i \in Ids : LET r == One(i) IN Move(i, r)
  \/ Close
  \/ Purge
  \/ Recreate

Spec == Init /\ [][Next]_vars

\* Every instance of an open resource moves on for ever or ends: a Host that keeps one still is no Host.
FairSpec == Spec /\ \A i \in Ids : WF_vars(phase = "open" /\ Advance(i, One(i)))

-----------------------------------------------------------------------------
\* Shape (BND-5): what is seen has the seven statuses, and an outcome where there is one.
Shape ==
  /\ uid \in 1..MaxUid
  /\ phase \in {"open", "closing", "free"}
  /\ \A i \in Ids :
       /\ status[i] \in {"unknown"} \cup Moving \cup Ended
       /\ deadline[i] \in {"off", "ahead", "now", "past"}
       /\ end[i] \in Ends \cup {"none"}

\* StoppedFirst (PUB-1, TRM-1, TRM-2): no code runs while a parked or terminal status is visible.
StoppedFirst == \A i \in Ids : status[i] \in Parked \cup Ended => ~code[i]

\* EmptyAtTheEnd (EVT-6): nothing is left in the inbox of a terminal instance.
EmptyAtTheEnd == \A i \in Ids : status[i] \in Ended => inbox[i] = <<>>

\* OneWait (WFE-2): no event serves two waits, and none is both queued and consumed.
OneWait ==
  \A i \in Ids :
    LET taken(s) == steps[i][s]
        queued == {inbox[i][k][1] : k \in 1..Len(inbox[i])}
    IN  /\ \A s, t \in Steps :
             taken(s)[1] = "event" /\ taken(t)[1] = "event" /\ s # t => taken(s)[2] # taken(t)[2]
        /\ \A s \in Steps : taken(s)[1] = "event" => taken(s)[2] \notin queued

\* InOrder (WFE-8): no event is consumed before an older one of its type.
InOrder ==
  \A i \in Ids, s \in Steps :
    steps[i][s][1] = "event" =>
      \A k \in 1..Len(inbox[i]) :
        inbox[i][k][2] = steps[i][s][3] => inbox[i][k][1] > steps[i][s][2]

\* FreeMeansEmpty (DEL-3, DEL-7): a free name holds nothing, so a new UID starts empty.
FreeMeansEmpty == phase = "free" => Nothing

\* Once (GRT-3, STP-3): an outcome that was recorded never changes while the instance is held.
Once ==
  [][\A i \in Ids, s \in Steps :
       steps[i][s] # NoOutcome =>
         steps'[i][s] = steps[i][s] \/ status'[i] = "unknown"]_vars

\* Final (TRM-3, TRM-6): what was decided never changes while the instance is held.
Final ==
  [][\A i \in Ids :
       /\ end[i] # "none" => end'[i] = end[i] \/ status'[i] = "unknown"
       /\ status[i] \in Ended => status'[i] \in {status[i], "unknown"}]_vars

\* NothingAfterTheEnd (LIF-5, DEL-5): past the lifetime or the close nothing is recorded, and none completes.
NothingAfterTheEnd ==
  [][\A i \in Ids :
       over[i] \/ phase # "open" =>
         /\ steps'[i] = steps[i] \/ status'[i] = "unknown"
         /\ end[i] = "none" => end'[i] # "complete"]_vars
=============================================================================
