------------------------------ MODULE Waits ------------------------------
(***************************************************************************)
(* The inbox and the waits of one instance, under a clock that ticks.      *)
(*                                                                         *)
(* Modelled: events of several types with their acceptance order, both     *)
(* bounds of the inbox, matching, hand-over to the registered wait, the    *)
(* tie at the deadline, deadlines that are processed late, sleeps, the     *)
(* lifetime and its late processing, terminate, purge and retention, and   *)
(* of the protocol of owners as much as these touch.                       *)
(*                                                                         *)
(* Not modelled: do steps and retries, leases in time (an owner may be     *)
(* lost at any moment), payloads (an event is its number), several code    *)
(* versions. A timeout is caught, and the program goes on.                 *)
(*                                                                         *)
(* Time is relative and saturates: what is left until a deadline, until    *)
(* the end of the lifetime and of the retention. One tick is one second.   *)
(*                                                                         *)
(* Clauses: EVT-1 to EVT-9, EVT-11, WFE-1 to WFE-11, SLP-1 to SLP-4 LIF-1  *)
(* LIF-3 LIF-4 LIF-5 PUB-1 PUB-2 TRM-1 TRM-3 TRM-6 RET-1 RET-2 RET-4 STP-8 *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Body,         \* program name -> sequence of steps
  Size,         \* event type -> what a stored event of it takes in the inbox
  MaxToken,     \* bound: owner tokens
  MaxContexts,  \* bound: contexts that are not proven stopped
  MaxEvents,    \* bound: events accepted by one instance
  MaxInbox,     \* limit of the inbox in events
  MaxBytes,     \* limit of the inbox in bytes
  Lifetime,     \* in ticks, or Endless
  Retention     \* in ticks

Wait(type, timeout) == [kind |-> "wait", type |-> type, delay |-> timeout]
Sleep(delay) == [kind |-> "sleep", type |-> "", delay |-> delay]

Programs == DOMAIN Body
Types == DOMAIN Size
Names == <<"a", "b", "c">>
Steps == {Names[k] : k \in 1..Len(Names)}
Tokens == 1..MaxToken
None == "none"

Slept == 99       \* the outcome of a sleep
TimedOut == -1    \* the outcome of a wait without an event
Off == -2         \* no deadline; one that is past is -1
Endless == 99     \* a lifetime that no tick shortens: what moves on then does so by itself

VARIABLES
  prog,      \* the program of the instance, or "none" where none is held
  own,       \* the token that may commit, or 0: every context is fenced
  token,     \* the last token given out; 0 once an outcome is decided
  ctx,       \* contexts not proven stopped: their token, and the step called and not seen settled
  hist,      \* outcome of each step: 0 unfinished, the number of the event consumed, Slept or TimedOut
  left,      \* time until the deadline of the first unfinished step, -1 past it, Off without one
  life,      \* time until the end of the lifetime, 0 once it is over or no longer matters
  inbox,     \* accepted events not consumed: their number and type, in the order of acceptance
  accepted,  \* how many events were accepted
  dec,       \* the terminal outcome that is decided and not published
  term,      \* the terminal outcome that is published
  keep       \* time until the end of the retention, counted from the decision

vars == <<prog, own, token, ctx, hist, left, life, inbox, accepted, dec, term, keep>>

NoHistory == [s \in Steps |-> 0]

Init ==
  /\ prog = None
  /\ own = 0
  /\ token = 0
  /\ ctx = {}
  /\ hist = NoHistory
  /\ left = Off
  /\ life = 0
  /\ inbox = <<>>
  /\ accepted = 0
  /\ dec = None
  /\ term = None
  /\ keep = 0

-----------------------------------------------------------------------------
Length == IF prog = None THEN 0 ELSE Len(Body[prog])
Finished(k) == hist[Names[k]] # 0  \* STP-3
\* The position of the first unfinished step, or 0.
First ==
  IF \A k \in 1..Length : Finished(k) THEN 0
  ELSE CHOOSE k \in 1..Length : ~Finished(k) /\ \A j \in 1..(k - 1) : Finished(j)
Step == Body[prog][First]
Position(s) == CHOOSE k \in 1..Len(Names) : Names[k] = s

Live == prog # None /\ dec = None /\ term = None
Works == Live /\ life > 0   \* LIF-5: what counts is the instant, processed or not
Pending == left # Off
Context(t) == CHOOSE c \in ctx : c.token = t
Exists(t) == \E c \in ctx : c.token = t
\* A fenced context keeps nothing: no report of it could matter in this module.
FenceAll(contexts) == {[c EXCEPT !.open = None] : c \in contexts}
Open(t, step) == {IF c.token = t THEN [c EXCEPT !.open = step] ELSE c : c \in ctx}

RECURSIVE Bytes(_)
Bytes(events) == IF events = <<>> THEN 0 ELSE Size[Head(events)[2]] + Bytes(Tail(events))
\* EVT-3, EVT-4: both bounds are inclusive.
Fits(y) ==
  /\ Len(inbox) + 1 <= MaxInbox  \* EVT-3 in events
  /\ Bytes(inbox) + Size[y] <= MaxBytes  \* EVT-3 in bytes

Matches(y) == {k \in 1..Len(inbox) : inbox[k][2] = y}  \* EVT-8
Oldest(y) == CHOOSE k \in Matches(y) : \A j \in Matches(y) : k <= j  \* WFE-8
Without(k) == SubSeq(inbox, 1, k - 1) \o SubSeq(inbox, k + 1, Len(inbox))

\* Claims that are still to come if nothing more is lost: bounds the faults, not the work.
RECURSIVE Claims(_)
Claims(k) ==
  IF k > Length THEN 1
  ELSE Claims(k + 1) + (IF hist[Names[k]] # 0 \/ Body[prog][k].delay = 0 THEN 0 ELSE 1)
MayLose == ~Live \/ token + Claims(1) <= MaxToken

\* Publication of an outcome; the inbox is purged with it.
Ending(outcome, contexts) ==
  IF contexts = {}  \* PUB-1 at the decision
  THEN /\ term' = outcome
       /\ dec' = None
       /\ inbox' = <<>>  \* EVT-6
  ELSE dec' = outcome /\ term' = None /\ inbox' = inbox

Decide(outcome) ==
  /\ own' = 0  \* TRM-1
  /\ token' = 0
  /\ ctx' = FenceAll(ctx)
  /\ left' = Off
  /\ life' = 0
  /\ keep' = Retention  \* RET-4
  /\ Ending(outcome, ctx)

Gone(t) ==
  LET rest == {c \in ctx : c.token # t}
  IN  /\ ctx' = rest
      /\ IF dec = None THEN UNCHANGED <<dec, term, inbox>>
         ELSE Ending(dec, rest)  \* PUB-1 at the stop

Empty ==
  /\ own' = 0
  /\ token' = 0
  /\ ctx' = {}
  /\ hist' = NoHistory
  /\ left' = Off
  /\ inbox' = <<>>
  /\ accepted' = 0
  /\ dec' = None
  /\ term' = None
  /\ keep' = 0

-----------------------------------------------------------------------------
\* BND-3, RET-1, RET-2: an id that is not held, or no longer, takes a new instance with an empty history.
Create(p) ==
  /\ \/ prog = None
     \/ term # None /\ keep = 0  \* RET-1 at the create
  /\ prog' = p
  /\ life' = Lifetime
  /\ Empty

Purge ==
  /\ term # None
  /\ keep = 0  \* RET-1 at the purge
  /\ prog' = None
  /\ life' = 0
  /\ Empty

\* EVT-1 to EVT-5, WFE-5, WFE-6, WFE-10: an event goes to the wait registered for it, else into the inbox.
SendEvent(y) ==
  /\ accepted < MaxEvents
  /\ accepted' = accepted + 1
  /\ LET waits == Pending /\ Step.kind = "wait" /\ Step.type = y
         taken == waits /\ left >= 0  \* WFE-5
     IN  \/ /\ Works  \* LIF-5 at the send
            /\ taken
            /\ TRUE  \* EVT-5
            /\ hist' = [hist EXCEPT ![Names[First]] = accepted + 1]
            /\ left' = Off
            /\ UNCHANGED inbox
         \/ /\ Works
            /\ ~taken
            /\ Fits(y)
            /\ inbox' = Append(inbox, <<accepted + 1, y>>)  \* EVT-1
            /\ UNCHANGED <<hist, left>>
         \/ /\ dec # None  \* TRM-6: accepted and purged
            /\ UNCHANGED <<hist, left, inbox>>
  /\ UNCHANGED <<prog, own, token, ctx, life, dec, term, keep>>

Terminate ==
  /\ prog # None
  /\ term = None  \* TRM-3
  /\ dec = None  \* TRM-6
  /\ Decide("terminated")
  /\ UNCHANGED <<prog, hist, accepted>>

Claim ==
  /\ Works
  /\ own = 0
  /\ ~Pending  \* WFE-3, SLP-2
  /\ Cardinality(ctx) < MaxContexts
  /\ token < MaxToken
  /\ own' = token + 1
  /\ token' = token + 1
  /\ ctx' = ctx \cup {[token |-> token + 1, open |-> None]}
  /\ life' = life  \* LIF-4
  /\ UNCHANGED <<prog, hist, left, inbox, accepted, dec, term, keep>>

\* WFE-2, WFE-3, SLP-1, SLP-3: a wait takes the oldest event of its type, or its deadline is fixed.
BeginStep(t) ==
  /\ Works
  /\ t = own
  /\ Exists(t)
  /\ Context(t).open = None
  /\ First # 0
  /\ ctx' = Open(t, Names[First])
  /\ \/ /\ Step.kind = "sleep"
        /\ Step.delay = 0
        /\ hist' = [hist EXCEPT ![Names[First]] = Slept]
        /\ UNCHANGED <<left, inbox>>
     \/ /\ Step.kind = "wait"
        /\ Matches(Step.type) # {}
        /\ hist' = [hist EXCEPT ![Names[First]] = inbox[Oldest(Step.type)][1]]
        /\ inbox' = Without(Oldest(Step.type))  \* WFE-2
        /\ UNCHANGED left
     \/ /\ Step.delay > 0
        /\ Step.kind = "wait" => Matches(Step.type) = {}  \* WFE-7
        /\ left' = Step.delay  \* SLP-1
        /\ UNCHANGED <<hist, inbox>>
  /\ UNCHANGED <<prog, own, token, life, accepted, dec, term, keep>>

Park(t) ==
  /\ Works
  /\ t = own
  /\ Exists(t)
  /\ Context(t).open # None
  /\ \/ /\ hist[Context(t).open] # 0
        /\ ctx' = Open(t, None)
        /\ own' = own
     \/ /\ hist[Context(t).open] = 0
        /\ own' = 0  \* WFE-3: fenced before it is shown
        /\ ctx' = FenceAll(ctx)
  /\ UNCHANGED <<prog, token, hist, left, life, inbox, accepted, dec, term, keep>>

Settle(t) ==
  /\ Works  \* LIF-5 at the end
  /\ t = own
  /\ Exists(t)
  /\ \/ /\ Context(t).open # None
        /\ Decide("step_definition_mismatch")
     \/ /\ Context(t).open = None
        /\ First = 0  \* ABI-3
        /\ Decide("complete")
  /\ UNCHANGED <<prog, hist, accepted>>

\* SLP-2, WFE-5: a sleep wakes at its deadline, a wait times out strictly after it.
Wake ==
  /\ Works  \* LIF-5 at the wake
  /\ own = 0
  /\ Pending
  /\ \/ /\ Step.kind = "sleep"
        /\ left <= 0  \* SLP-2
        /\ hist' = [hist EXCEPT ![Names[First]] = Slept]
     \/ /\ Step.kind = "wait"
        /\ left < 0  \* WFE-5 at the wake
        /\ hist' = [hist EXCEPT ![Names[First]] = TimedOut]  \* WFE-11
  /\ left' = Off
  /\ UNCHANGED <<prog, own, token, ctx, life, inbox, accepted, dec, term, keep>>

\* LIF-1: the end of the lifetime is processed, whatever the status.
EndLifetime ==
  /\ Live
  /\ life = 0  \* LIF-1
  /\ Decide("lifetime_exceeded")
  /\ UNCHANGED <<prog, hist, accepted>>

Expire ==
  /\ own # 0
  /\ MayLose
  /\ own' = 0
  /\ ctx' = FenceAll(ctx)
  /\ UNCHANGED <<prog, token, hist, left, life, inbox, accepted, dec, term, keep>>

Crash(t) ==
  /\ Exists(t)
  /\ t = own => MayLose
  /\ own' = IF t = own THEN 0 ELSE own
  /\ Gone(t)
  /\ hist' = hist  \* GRT-8
  /\ left' = left  \* SLP-1 at a crash
  /\ UNCHANGED <<prog, token, life, accepted, keep>>

StopAck(t) ==
  /\ Exists(t)
  /\ t # own
  /\ Gone(t)
  /\ UNCHANGED <<prog, own, token, hist, left, life, accepted, keep>>

Less(n, floor) == IF n > floor THEN n - 1 ELSE n

\* One second passes, as far as it can still be told.
Tick ==
  /\ left' = IF Pending THEN Less(left, -1) ELSE left
  /\ life' = IF Lifetime = Endless THEN life ELSE Less(life, 0)
  /\ keep' = Less(keep, 0)
  /\ <<left', life', keep'>> # <<left, life, keep>>
  /\ UNCHANGED <<prog, own, token, ctx, hist, inbox, accepted, dec, term>>

Next ==
  \/ \E p \in Programs : Create(p)
  \/ Purge
  \/ \E y \in Types : SendEvent(y)
  \/ Terminate
  \/ Claim
  \/ \E t \in Tokens : BeginStep(t)
  \/ \E t \in Tokens : Park(t)
  \/ \E t \in Tokens : Settle(t)
  \/ Wake
  \/ EndLifetime
  \/ Expire
  \/ \E t \in Tokens : Crash(t)
  \/ \E t \in Tokens : StopAck(t)
  \/ Tick

Spec == Init /\ [][Next]_vars

Work(t) == BeginStep(t) \/ Park(t) \/ Settle(t)
Fairness ==
  /\ WF_vars(Claim)
  /\ WF_vars(\E t \in Tokens : Work(t))
  /\ WF_vars(Wake)
  /\ WF_vars(EndLifetime)
  /\ WF_vars(\E t \in Tokens : StopAck(t))
  /\ WF_vars(Tick)
FairSpec == Spec /\ Fairness

-----------------------------------------------------------------------------
\* What callers see. STA-1: awake, and not yet claimed, is shown as queued.
Held == prog # None /\ (term = None \/ keep > 0)
Errors == {"lifetime_exceeded", "step_definition_mismatch"}
Status ==
  CASE ~Held -> "unknown"
    [] term # None -> IF term \in Errors THEN "errored" ELSE term
    [] ctx # {} \/ dec # None -> "running"  \* PUB-1 in what is seen
    [] Pending -> IF Step.kind = "sleep" THEN "sleeping" ELSE "waiting"
    [] OTHER -> "queued"

Outcome(s) ==
  CASE hist[s] = 0 \/ ~Held -> <<"none", 0, "">>
    [] hist[s] = TimedOut -> <<"failed", 0, "">>
    [] hist[s] = Slept -> <<"done", 0, "">>
    [] OTHER -> <<"event", hist[s], Body[prog][Position(s)].type>>

Only == {"i"}
Observed == INSTANCE DurableWorkflow WITH
  Ids <- Only, Values <- {0}, MaxUid <- 1,
  uid <- 1,
  phase <- "open",
  status <- [i \in Only |-> Status],
  code <- [i \in Only |-> ctx # {}],
  steps <- [i \in Only |-> [s \in Steps |-> Outcome(s)]],
  inbox <- [i \in Only |-> inbox],
  accepted <- [i \in Only |-> IF Held THEN accepted ELSE 0],
  deadline <- [i \in Only |->
    CASE left = Off -> "off" [] left > 0 -> "ahead" [] left = 0 -> "now" [] OTHER -> "past"],
  over <- [i \in Only |-> Live /\ life = 0],
  end <- [i \in Only |-> CASE ~Held -> None [] term # None -> term [] OTHER -> dec]

\* Refines (BND-5, EVT-6, WFE-2, WFE-5, WFE-8, LIF-5): every behaviour is one that callers may observe.
Refines == Observed!Spec
\* RefinesFairly (BND-5, LIF-1): under fairness every instance moves on or ends, as callers may expect.
RefinesFairly == Observed!FairSpec

-----------------------------------------------------------------------------
Numbers == {inbox[k][1] : k \in 1..Len(inbox)}
Consumed == {hist[s] : s \in Steps} \cap 1..MaxEvents

\* Shape (PUB-2): owners have contexts, and what is left lies in its range.
Shape ==
  /\ own # 0 => Live /\ Exists(own)
  /\ left \in -2..Lifetime + 3
  /\ life \in 0..Lifetime
  /\ keep \in 0..Retention
  /\ Pending => First # 0 /\ Live
  /\ Pending /\ own # 0 => Context(own).open = Names[First]

\* Publication (PUB-1, WFE-3, SLP-2): nothing runs while a parked or terminal status is visible.
Publication == term # None \/ Status \in {"sleeping", "waiting"} => ctx = {} /\ own = 0

\* DecisionFences (TRM-4, PUB-2): once an outcome is decided nobody may commit.
DecisionFences == dec # None \/ term # None => own = 0

\* Place (EVT-1, WFE-2): while an instance lives every accepted event is in the inbox or in one finished step.
Place ==
  /\ Numbers \cap Consumed = {}
  /\ Live => Numbers \cup Consumed = 1..accepted
  /\ Len(inbox) = Cardinality(Numbers)

\* OneWait (WFE-2): one event never serves two waits.
OneWait == \A s, t \in Steps : s # t /\ hist[s] = hist[t] => hist[s] \in {0, Slept, TimedOut}

\* InOrder (EVT-1): the inbox keeps the order of acceptance.
InOrder == \A j, k \in 1..Len(inbox) : j < k => inbox[j][1] < inbox[k][1]

\* Fifo (WFE-8): events of one type are consumed in the order of acceptance.
Fifo ==
  \A j \in 1..Length :
    hist[Names[j]] \in Consumed =>
      /\ \A k \in (j + 1)..Length :
           Body[prog][k].type = Body[prog][j].type /\ hist[Names[k]] \in Consumed =>
             hist[Names[j]] < hist[Names[k]]
      /\ \A k \in 1..Len(inbox) : inbox[k][2] = Body[prog][j].type => hist[Names[j]] < inbox[k][1]

\* NoMatchBesideWait (WFE-5, WFE-7, WFE-10): up to its deadline's own instant a wait has no match in the inbox.
NoMatchBesideWait == Pending /\ left >= 0 /\ Step.kind = "wait" => Matches(Step.type) = {}

\* Capacity (EVT-3): the inbox is within both bounds.
Capacity == Len(inbox) <= MaxInbox /\ Bytes(inbox) <= MaxBytes

\* Inclusive (EVT-4): an event that exactly fits is accepted.
Inclusive ==
  \A y \in Types :
    Works /\ accepted < MaxEvents /\ Len(inbox) < MaxInbox /\ Bytes(inbox) <= MaxBytes - Size[y] =>
      ENABLED SendEvent(y)

\* HandOverIsFree (EVT-3, EVT-5): a full inbox does not stop a hand-over.
HandOverIsFree ==
  Works /\ accepted < MaxEvents /\ Pending /\ left >= 0 /\ Step.kind = "wait" => ENABLED SendEvent(Step.type)

\* EmptyAtTheEnd (EVT-6): the inbox of a terminal instance is empty.
EmptyAtTheEnd == term # None => inbox = <<>>

\* CompleteMeansDone (STP-8): a complete run has every step finished.
CompleteMeansDone == "complete" \in {dec, term} => \A k \in 1..Length : Finished(k)

\* Once (GRT-3, WFE-11): a finished step keeps its outcome while the instance is held.
Once == [][\A s \in Steps : hist[s] # 0 => hist'[s] = hist[s] \/ ~Held]_vars

\* OwnType (WFE-2, EVT-8): what a wait takes out of the inbox is of its type.
OwnType ==
  [][\A s \in Steps :
       hist[s] = 0 /\ hist'[s] \in 1..accepted =>
         \E k \in 1..Len(inbox) : inbox[k] = <<hist'[s], Body[prog][Position(s)].type>>]_vars

\* NotAfterItsTime (WFE-5, WFE-6, EVT-11): no event is handed over after the deadline of the wait.
NotAfterItsTime == [][\A s \in Steps : hist[s] = 0 /\ hist'[s] = accepted + 1 => left >= 0]_vars

\* TimeoutStrictly (WFE-5): a timeout is recorded only strictly after the deadline.
TimeoutStrictly == [][\A s \in Steps : hist[s] = 0 /\ hist'[s] = TimedOut => left = -1]_vars

\* SleepNotEarly (SLP-2): a sleep that takes time is finished at its deadline at the earliest.
SleepNotEarly ==
  [][\A s \in Steps :
       hist[s] = 0 /\ hist'[s] = Slept /\ Body[prog][Position(s)].delay > 0 => left \in {-1, 0}]_vars

\* DeadlineFixed (SLP-1, STP-5): a registered deadline only comes nearer.
DeadlineFixed == [][Pending /\ left' # Off => left' \in {left, left - 1}]_vars

\* NotWhileParked (WFE-3, SLP-2): no context starts while the instance is parked.
NotWhileParked == [][Pending /\ own = 0 => own' = 0]_vars

\* LifetimeRuns (LIF-4): nothing moves the end of the lifetime.
LifetimeRuns == [][Live /\ Live' => life' \in {life, life - 1}]_vars

\* OnlyAtTheEnd (LIF-1): lifetime_exceeded is decided only when the lifetime is over.
OnlyAtTheEnd == [][Live /\ "lifetime_exceeded" \in {dec', term'} => life = 0]_vars

\* NothingAfterTheEnd (LIF-1, LIF-5): past the lifetime nothing is recorded, and no run completes.
NothingAfterTheEnd ==
  [][Live /\ life = 0 =>
       hist' = hist /\ {dec', term'} \subseteq {None, "lifetime_exceeded", "terminated"}]_vars

\* NothingAcceptedAfter (EVT-2, LIF-5): past the lifetime and in a terminal instance no event is accepted.
NothingAcceptedAfter == [][(Live /\ life = 0) \/ term # None => accepted' \in {accepted, 0}]_vars

\* KeptLongEnough (RET-1): a terminal instance is forgotten only after its retention.
KeptLongEnough == [][term # None /\ term' # term => keep = 0]_vars

\* RetentionCounts (RET-1, RET-4): the retention is counted in full from the decision.
RetentionCounts ==
  [][/\ Live /\ ~Live' => keep' = Retention
     /\ ~Live /\ keep' # keep => keep' = keep - 1 \/ Live']_vars

\* Decided (TRM-6): what is decided is what gets published, and nothing else.
Decided == [][dec # None => dec' = dec \/ term' = dec]_vars

\* Final (TRM-3): a published outcome never changes while the instance is held.
Final == [][term # None => term' = term \/ ~Held]_vars

\* MovesOn (WFE-5, SLP-2): a parked instance whose deadline is past moves on, also if its lifetime never ends.
MovesOn == (Live /\ own = 0 /\ left = -1) ~> ~(Live /\ own = 0 /\ left = -1)

\* HandedMovesOn (EVT-1, WFE-9): an instance that was handed an event, or woken, runs again.
HandedMovesOn == (Live /\ own = 0 /\ ~Pending) ~> (own # 0 \/ ~Live)

\* EndIsPublished (TRM-1, TRM-5): once stops can be proven, a decided outcome is published.
EndIsPublished == dec # None ~> term # None

\* EveryRunEnds (LIF-1): an instance that was created ends.
EveryRunEnds == Live ~> term # None

-----------------------------------------------------------------------------
(* Baits: each is false somewhere, which shows that the state is reached.  *)

\* BaitTie (WFE-5): a wait stands at its deadline's own instant.
BaitTie == ~(Pending /\ left = 0 /\ Step.kind = "wait" /\ own = 0)
\* BaitLateEvent (EVT-11, WFE-6): a wait is past its deadline, and an event of its type lies in the inbox.
BaitLateEvent == ~(Pending /\ left = -1 /\ Step.kind = "wait" /\ Matches(Step.type) # {})
\* BaitWaiting (WFE-3): waiting is visible.
BaitWaiting == Status # "waiting"
\* BaitHandedBeforeStop (WFE-10): an event was handed over while the context that waits is not stopped.
BaitHandedBeforeStop == ~(own = 0 /\ ctx # {} /\ ~Pending /\ Consumed # {} /\ Live)
\* BaitFull (EVT-3): the inbox is full in events.
BaitFull == Len(inbox) < MaxInbox
\* BaitFullWait (EVT-5): the inbox is full while a wait is registered.
BaitFullWait == ~(Len(inbox) = MaxInbox /\ Pending /\ left >= 0 /\ Step.kind = "wait")
\* BaitTimeout (WFE-5): a wait timed out, and a later event is kept.
BaitTimeout == ~(inbox # <<>> /\ \E s \in Steps : hist[s] = TimedOut)
\* BaitOver (LIF-5): the lifetime is over and not processed while a context works.
BaitOver == ~(own # 0 /\ life = 0)
\* BaitPurged (EVT-6, TRM-6): events wait for the end of an instance that is decided.
BaitPurged == ~(dec # None /\ inbox # <<>>)
\* BaitRetained (RET-1): a terminal instance is at the end of its retention.
BaitRetained == ~(term # None /\ keep = 0)
=============================================================================
