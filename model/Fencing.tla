----------------------------- MODULE Fencing -----------------------------
(***************************************************************************)
(* One instance under the protocol of owners: who may commit, and what     *)
(* must have stopped before something becomes visible.                     *)
(*                                                                         *)
(* Modelled: owner tokens, contexts that are alive or proven stopped,      *)
(* leases that may run out at any moment, claim, the call of a step, park, *)
(* the commit of an attempt, retries with and without a delay, settle in   *)
(* two phases (decide, publish), terminate, crashes at any point, fenced   *)
(* owners whose report comes late, stops that are never proven.            *)
(*                                                                         *)
(* Not modelled: events, lengths of time (a deadline that is set may have  *)
(* passed whenever Wake looks), the lifetime, several code versions (every *)
(* context runs the same program), step calls that overlap otherwise than  *)
(* by settling too early, documents. A failed step is not caught.          *)
(*                                                                         *)
(* A program is a sequence of steps. A context that replays finished steps *)
(* changes nothing, so the step it calls next is the first unfinished one. *)
(*                                                                         *)
(* Clauses: PUB-1 PUB-2 TRM-1 TRM-2 TRM-3 TRM-4 TRM-6 STP-3 STP-5 STP-6    *)
(* STP-8 DO-4 DO-5 DO-6 DO-7 DO-10 DO-12 SLP-1 SLP-2 SLP-3 CTX-1 CTX-3     *)
(* CTX-4 ERR-3 GRT-2 GRT-3 GRT-4                                           *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Body,         \* program name -> sequence of steps
  MaxToken,     \* bound: owner tokens
  MaxContexts   \* bound: contexts that are not proven stopped

\* Steps of a program. A delay of 1 is some time, of 0 none.
Do(attempts, delay) == [kind |-> "do", attempts |-> attempts, delay |-> delay]
Sleep(delay) == [kind |-> "sleep", attempts |-> 0, delay |-> delay]

Programs == DOMAIN Body
Names == <<"a", "b", "c">>
Steps == {Names[k] : k \in 1..Len(Names)}
Tokens == 1..MaxToken
None == "none"

Slept == 99       \* the outcome of a sleep
Failed == -1      \* the outcome of a do whose last attempt failed

VARIABLES
  prog,    \* the program of the instance, or "none" where none is held
  own,     \* the token that may commit, or 0: every context is fenced
  token,   \* the last token given out
  ctx,     \* contexts not proven stopped: their token, and the step called and not seen settled
  hist,    \* outcome of each step: 0 unfinished, the token whose attempt succeeded, Slept or Failed
  fails,   \* committed failures of the first unfinished step
  timer,   \* whether that step has a deadline: a sleep, or a retry's delay
  dec,     \* the terminal outcome that is decided and not published
  term     \* the terminal outcome that is published

vars == <<prog, own, token, ctx, hist, fails, timer, dec, term>>

NoHistory == [s \in Steps |-> 0]

Init ==
  /\ prog = None
  /\ own = 0
  /\ token = 0
  /\ ctx = {}
  /\ hist = NoHistory
  /\ fails = 0
  /\ timer = FALSE
  /\ dec = None
  /\ term = None

-----------------------------------------------------------------------------
Length == IF prog = None THEN 0 ELSE Len(Body[prog])
Finished(k) == hist[Names[k]] # 0  \* STP-3
\* The position of the first unfinished step, or 0.
First ==
  IF \A k \in 1..Length : Finished(k) THEN 0
  ELSE CHOOSE k \in 1..Length : ~Finished(k) /\ \A j \in 1..(k - 1) : Finished(j)
Step == Body[prog][First]
Kind(s) == LET k == CHOOSE j \in 1..Len(Names) : Names[j] = s IN Body[prog][k].kind
HasFailed == \E s \in Steps : hist[s] = Failed

Live == prog # None /\ dec = None /\ term = None
Context(t) == CHOOSE c \in ctx : c.token = t
Exists(t) == \E c \in ctx : c.token = t
\* A context as it is kept once it is fenced: only an open attempt could still report.
Kept(c) == [c EXCEPT !.open = IF @ # None /\ Kind(@) = "do" THEN @ ELSE None]
FenceAll(contexts) == {Kept(c) : c \in contexts}
Open(t, step) == {IF c.token = t THEN [c EXCEPT !.open = step] ELSE c : c \in ctx}

\* Claims that are still to come if nothing more is lost: bounds the faults, not the work.
RECURSIVE Claims(_)
Claims(k) ==
  IF k > Length THEN 1
  ELSE Claims(k + 1) +
       (IF hist[Names[k]] # 0 THEN 0
        ELSE IF Body[prog][k].kind = "do" THEN Body[prog][k].attempts - 1
        ELSE Body[prog][k].delay)
MayLose == token + Claims(1) - fails <= MaxToken

\* Publication of an outcome, with the fields that mean nothing afterwards cleared.
Ending(outcome, contexts) ==
  IF contexts = {} THEN term' = outcome /\ dec' = None /\ token' = 0
  ELSE dec' = outcome /\ term' = None /\ token' = token
Decide(outcome) ==
  /\ own' = 0  \* TRM-1
  /\ ctx' = FenceAll(ctx)
  /\ fails' = 0
  /\ timer' = FALSE
  /\ Ending(outcome, ctx)

\* The context is gone; what was decided is published when it was the last one.
Gone(t) ==
  LET rest == {c \in ctx : c.token # t}
  IN  /\ ctx' = FenceAll({c \in rest : c.token # own}) \cup {c \in rest : c.token = own}
      /\ IF dec = None THEN UNCHANGED <<dec, term, token>>
         ELSE Ending(dec, rest)  \* PUB-1 at the stop

-----------------------------------------------------------------------------
Create(p) ==
  /\ prog = None
  /\ prog' = p
  /\ UNCHANGED <<own, token, ctx, hist, fails, timer, dec, term>>

\* TRM-1 to TRM-6: fence, and decide where nothing is decided yet.
Terminate ==
  /\ prog # None
  /\ term = None  \* TRM-3
  /\ dec = None  \* TRM-6
  /\ Decide("terminated")
  /\ UNCHANGED <<prog, hist>>

\* CTX-1, CTX-4: a context starts under a fresh token, beside fenced ones.
Claim ==
  /\ Live
  /\ own = 0
  /\ ~timer  \* DO-10, SLP-2
  /\ Cardinality(ctx) < MaxContexts
  /\ token < MaxToken
  /\ own' = token + 1  \* PUB-2
  /\ token' = token + 1
  /\ ctx' = ctx \cup {[token |-> token + 1, open |-> None]}
  /\ UNCHANGED <<prog, hist, fails, timer, dec, term>>

\* STP-3: the call of the first unfinished step; SLP-3: a sleep of 0 is finished at once.
BeginStep(t) ==
  /\ Live
  /\ t = own  \* PUB-2 at the call
  /\ Exists(t)
  /\ Context(t).open = None
  /\ First # 0
  /\ ~HasFailed  \* ERR-3 at the call
  /\ ctx' = Open(t, Names[First])
  /\ LET slept == Step.kind = "sleep" /\ Step.delay = 0  \* SLP-3
     IN  hist' = IF slept THEN [hist EXCEPT ![Names[First]] = Slept] ELSE hist
  /\ timer' = (Step.kind = "sleep" /\ Step.delay > 0)  \* SLP-1
  /\ UNCHANGED <<prog, own, token, fails, dec, term>>

\* The turn has drained: the outcome goes to the same context, or the context is fenced until the step wakes.
Park(t) ==
  /\ Live
  /\ t = own  \* PUB-2 at the park
  /\ Exists(t)
  /\ Context(t).open # None
  /\ \/ /\ hist[Context(t).open] # 0  \* STP-12
        /\ ctx' = Open(t, None)
        /\ own' = own
     \/ /\ hist[Context(t).open] = 0
        /\ timer
        /\ own' = 0  \* SLP-2
        /\ ctx' = FenceAll(ctx)
  /\ UNCHANGED <<prog, token, hist, fails, timer, dec, term>>

\* DO-4 to DO-7: the outcome of one attempt is recorded; a failure before the last needs a fresh context.
CommitAttempt(t) ==
  /\ Live  \* TRM-4
  /\ t = own  \* PUB-2 at the commit
  /\ Exists(t)
  /\ Context(t).open # None
  /\ LET s == Context(t).open
     IN  /\ Kind(s) = "do"
         /\ hist[s] = 0  \* GRT-3
         /\ \/ /\ hist' = [hist EXCEPT ![s] = t]
               /\ ctx' = Open(t, None)
               /\ fails' = 0
               /\ UNCHANGED <<own, timer>>
            \/ /\ fails + 1 >= Step.attempts  \* DO-7
               /\ hist' = [hist EXCEPT ![s] = Failed]
               /\ ctx' = Open(t, None)
               /\ fails' = 0
               /\ UNCHANGED <<own, timer>>
            \/ /\ fails + 1 < Step.attempts  \* DO-2
               /\ fails' = fails + 1
               /\ own' = 0  \* DO-5
               /\ ctx' = FenceAll(ctx)  \* STP-12: in this context the step never settles
               /\ timer' = (Step.delay > 0)  \* DO-3
               /\ UNCHANGED hist
  /\ UNCHANGED <<prog, token, dec, term>>

\* ERR-3, STP-8: the run ends; with a step unsettled it ends as a mismatch, whatever it returned.
Settle(t) ==
  /\ Live
  /\ t = own  \* PUB-2 at the end
  /\ Exists(t)
  /\ \/ /\ Context(t).open # None
        /\ Decide("step_definition_mismatch")  \* STP-8
     \/ /\ Context(t).open = None
        /\ HasFailed  \* ERR-3 at the end
        /\ Decide("step_failed")
     \/ /\ Context(t).open = None
        /\ ~HasFailed
        /\ First = 0  \* ABI-3
        /\ Decide("complete")
  /\ UNCHANGED <<prog, hist>>

\* The deadline has passed: the sleep is finished, or the retry may start.
Wake ==
  /\ Live
  /\ own = 0
  /\ timer
  /\ timer' = FALSE
  /\ hist' = IF Step.kind = "sleep" THEN [hist EXCEPT ![Names[First]] = Slept] ELSE hist  \* SLP-2
  /\ UNCHANGED <<prog, own, token, ctx, fails, dec, term>>

\* GRT-4: the lease has run out; the owner is fenced, and not proven stopped.
Expire ==
  /\ own # 0
  /\ MayLose
  /\ own' = 0  \* GRT-4
  /\ ctx' = FenceAll(ctx)
  /\ UNCHANGED <<prog, token, hist, fails, timer, dec, term>>

\* A context died, whatever it was doing: it is fenced and stopped.
Crash(t) ==
  /\ Exists(t)
  /\ t = own => MayLose
  /\ own' = IF t = own THEN 0 ELSE own  \* DO-12
  /\ Gone(t)
  /\ hist' = hist  \* GRT-8
  /\ UNCHANGED <<prog, fails, timer>>

\* PUB-1: a fenced context is proven stopped.
StopAck(t) ==
  /\ Exists(t)
  /\ t # own  \* PUB-1: fenced first
  /\ Gone(t)
  /\ UNCHANGED <<prog, own, hist, fails, timer>>

Next ==
  \/ \E p \in Programs : Create(p)
  \/ Terminate
  \/ Claim
  \/ \E t \in Tokens : BeginStep(t)
  \/ \E t \in Tokens : Park(t)
  \/ \E t \in Tokens : CommitAttempt(t)
  \/ \E t \in Tokens : Settle(t)
  \/ Wake
  \/ Expire
  \/ \E t \in Tokens : Crash(t)
  \/ \E t \in Tokens : StopAck(t)

Spec == Init /\ [][Next]_vars

\* A Host whose workers go on, whose stops are proven in the end, and whose timers ring.
Work(t) == BeginStep(t) \/ Park(t) \/ CommitAttempt(t) \/ Settle(t)
Fairness ==
  /\ WF_vars(Claim)
  /\ WF_vars(\E t \in Tokens : Work(t))
  /\ WF_vars(Wake)
  /\ WF_vars(\E t \in Tokens : StopAck(t))
FairSpec == Spec /\ Fairness

-----------------------------------------------------------------------------
\* What callers see. STA-1: awake, and not yet claimed, is shown as queued.
Errors == {"step_failed", "step_definition_mismatch"}
Status ==
  CASE prog = None -> "unknown"
    [] term # None -> IF term \in Errors THEN "errored" ELSE term
    [] ctx # {} \/ dec # None -> "running"  \* PUB-1 in what is seen
    [] timer -> "sleeping"
    [] OTHER -> "queued"

\* The mapping to the module of what callers may observe.
Outcome(s) ==
  CASE hist[s] = 0 -> <<"none", 0, "">>
    [] hist[s] = Failed -> <<"failed", 0, "">>
    [] OTHER -> <<"done", hist[s], "">>

Only == {"i"}
Observed == INSTANCE DurableWorkflow WITH
  Ids <- Only, Types <- {"go"}, Values <- Tokens \cup {Slept}, MaxUid <- 1, MaxEvents <- 0,
  uid <- 1,
  phase <- "open",
  status <- [i \in Only |-> Status],
  code <- [i \in Only |-> ctx # {}],
  steps <- [i \in Only |-> [s \in Steps |-> Outcome(s)]],
  inbox <- [i \in Only |-> <<>>],
  accepted <- [i \in Only |-> 0],
  deadline <- [i \in Only |-> IF timer THEN "past" ELSE "off"],
  over <- [i \in Only |-> FALSE],
  end <- [i \in Only |-> IF term # None THEN term ELSE dec]

\* Refines (BND-5, PUB-1, TRM-6, GRT-3): every behaviour is one that callers may observe.
Refines == Observed!Spec
\* RefinesFairly (BND-5): under fairness every instance moves on or ends, as callers may expect.
RefinesFairly == Observed!FairSpec

-----------------------------------------------------------------------------
\* Shape (PUB-2): one owner at most, it has a context, and tokens name contexts.
Shape ==
  /\ own \in 0..MaxToken
  /\ own # 0 => Exists(own)
  /\ \A c \in ctx : c.token <= token
  /\ \A c, d \in ctx : c.token = d.token => c = d
  /\ dec = None \/ term = None

\* Publication (PUB-1, TRM-1, TRM-2): no context is alive while a parked or terminal status is visible.
Publication == term # None \/ Status = "sleeping" => ctx = {} /\ own = 0

\* DecisionFences (TRM-4, PUB-2): once an outcome is decided nobody may commit.
DecisionFences == dec # None \/ term # None => own = 0

\* Prefix (STP-3, GRT-3): finished steps are a prefix of the program.
Prefix == \A j, k \in 1..Length : j < k /\ hist[Names[k]] # 0 => hist[Names[j]] \notin {0, Failed}

\* CompleteMeansDone (STP-8, ABI-3): a complete run has every step finished, and none failed.
CompleteMeansDone ==
  "complete" \in {dec, term} => (\A k \in 1..Length : Finished(k)) /\ ~HasFailed

\* FailedMeansFailed (ERR-3): step_failed needs a step whose last attempt failed.
FailedMeansFailed == "step_failed" \in {dec, term} => HasFailed

\* AttemptsBounded (DO-2, DO-7): a step has fewer committed failures than attempts while it is unfinished.
AttemptsBounded == fails > 0 => Step.kind = "do" /\ fails < Step.attempts

\* OnlyOwnerCommits (PUB-2, TRM-4): the token in a recorded result owned the instance when it was recorded.
OnlyOwnerCommits ==
  [][\A s \in Steps : hist'[s] # hist[s] /\ hist'[s] \in Tokens => hist'[s] = own]_vars

\* FailuresByOwner (PUB-2, DO-12): a failure is counted only while there is an owner.
FailuresByOwner == [][fails' > fails \/ (HasFailed' /\ ~HasFailed) => own # 0]_vars

\* Once (GRT-3, DO-6, DO-7): a finished step keeps its outcome.
Once == [][\A s \in Steps : hist[s] # 0 => hist'[s] = hist[s]]_vars

\* NoEffectAgain (DO-6, STP-3): no call made after the commit of a do opens it again.
NoEffectAgain ==
  [][\A c \in ctx' : c.open # None /\ c \notin ctx => hist[c.open] = 0 \/ \E d \in ctx : d = c]_vars

\* OwnerCalls (PUB-2, STP-17, TRM-4): only the current owner's calls begin a step.
OwnerCalls ==
  [][\A t \in Tokens : Exists(t) /\ Context(t).open = None =>
       \A c \in ctx' : c.token = t /\ c.open # None => t = own]_vars

\* HandedBack (STP-12, DO-4): a context sees its step settle only with a recorded outcome.
HandedBack ==
  [][own # 0 /\ own' = own /\ Context(own).open # None =>
       \A c \in ctx' : c.token = own /\ c.open = None => hist'[Context(own).open] # 0]_vars

\* LastAttempt (DO-2, DO-7): a step fails for good only with its last attempt.
LastAttempt == [][HasFailed' /\ ~HasFailed => fails + 1 >= Step.attempts]_vars

\* FreshContext (DO-5): after a failed attempt that is not the last its context is fenced.
FreshContext == [][fails' > fails => own' = 0]_vars

\* NotBeforeItsTime (DO-10, SLP-2): no context starts while the step has a deadline ahead.
NotBeforeItsTime == [][timer /\ own = 0 => own' = 0]_vars

\* TimersAreKept (DO-10): a failed attempt with a delay leaves a deadline.
TimersAreKept == [][fails' > fails => timer' = (Step.delay > 0)]_vars

\* SleepIsRecorded (SLP-1, SLP-2): a sleep's deadline goes only with its outcome, or with the instance.
SleepIsRecorded ==
  [][timer /\ ~timer' /\ Live' /\ Step.kind = "sleep" => hist'[Names[First]] = Slept]_vars

\* SleepTakesTime (SLP-2): a sleep that takes time is not finished before its deadline was set.
SleepTakesTime ==
  [][\A k \in 1..Length :
       hist[Names[k]] = 0 /\ hist'[Names[k]] = Slept /\ Body[prog][k].delay > 0 => timer]_vars

\* FreshToken (CTX-1, GRT-4): an owner's token is larger than every earlier one.
FreshToken == [][own' \notin {0, own} => own' = token + 1 /\ \A c \in ctx : c.token < own']_vars

\* FencedStaysFenced (PUB-2): a token that was fenced never owns again.
FencedStaysFenced == [][\A t \in Tokens : t # own /\ t <= token => own' # t]_vars

\* SettledByOwner (PUB-2, TRM-6): an outcome other than terminated is decided by the owner alone.
SettledByOwner ==
  [][dec = None /\ term = None /\ (dec' # None \/ term' # None) =>
       "terminated" \in {dec', term'} \/ own # 0]_vars

\* Decided (TRM-6): what is decided is what gets published, and nothing else.
Decided == [][dec # None => dec' = dec \/ term' = dec]_vars

\* Final (TRM-3, GRT-3): a published outcome never changes.
Final == [][term # None => term' = term]_vars

\* Unsettled (STP-6, STP-8): with a step unsettled the run ends as a mismatch.
Unsettled ==
  [][own # 0 /\ own' = 0 /\ Exists(own) /\ Context(own).open # None =>
       {dec', term'} \subseteq {None, "terminated", "step_definition_mismatch"}]_vars

\* MovesOn (SLP-2, DO-10): a parked instance moves on.
MovesOn == (Live /\ own = 0 /\ timer) ~> ~(Live /\ own = 0 /\ timer)

\* EndIsPublished (TRM-1, TRM-5): once stops can be proven, a decided outcome is published.
EndIsPublished == dec # None ~> term # None

\* EveryRunEnds (GRT-8): under fairness an instance that was created ends.
EveryRunEnds == prog # None ~> term # None

-----------------------------------------------------------------------------
(* Baits: each is false somewhere, which shows that the state is reached.  *)

\* BaitLateOwner (GRT-2, CTX-4): a fenced context with an open attempt beside an owner that has its result.
BaitLateOwner == ~(own # 0 /\ \E c \in ctx : c.token # own /\ c.open # None /\ hist[c.open] > 0)
\* BaitTwoLive (CTX-4): a new context runs beside one that is not proven stopped.
BaitTwoLive == ~(own # 0 /\ Cardinality(ctx) > 1)
\* BaitParked (SLP-2): sleeping is visible.
BaitParked == Status # "sleeping"
\* BaitRetried (DO-5): a later attempt succeeds.
BaitRetried == ~(own # 0 /\ fails > 0 /\ Context(own).open # None)
\* BaitStepFailed (DO-7): a step fails for good.
BaitStepFailed == term # "step_failed"
\* BaitMismatch (STP-8): a run settles with a step unsettled.
BaitMismatch == term # "step_definition_mismatch"
\* BaitWindow (TRM-6): complete is decided and two contexts are not stopped.
BaitWindow == ~(dec = "complete" /\ Cardinality(ctx) > 1)
\* BaitComplete (ABI-3): a run completes after a redelivery.
BaitComplete == ~(term = "complete" /\ \E s \in Steps : hist[s] \in 2..MaxToken)
=============================================================================
