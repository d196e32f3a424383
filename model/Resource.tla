----------------------------- MODULE Resource -----------------------------
(***************************************************************************)
(* One name, its UIDs one after the other, and the instances that live and *)
(* die with each of them.                                                  *)
(*                                                                         *)
(* Modelled: Bindings that block a DELETE, the close that fences every     *)
(* owner, the purge once every context is stopped, re-creation under the   *)
(* name, two instances with owners, retries and timers, terminal outcomes, *)
(* and owners of an older UID whose reports come late: tokens start again  *)
(* with every UID, so only the UID tells such a report from a good one.    *)
(*                                                                         *)
(* Not modelled: the management API around it (Operations, keys, other     *)
(* Resources), events, history beyond one do step, bounded attempts, time, *)
(* retention, lifetime.                                                    *)
(*                                                                         *)
(* Clauses: DEL-1 DEL-2 DEL-3 DEL-4 DEL-5 DEL-7 RES-9 RES-10 PUB-1 PUB-2   *)
(* TRM-1 TRM-3 BND-3 RET-3 DO-5 DO-10                                      *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Ids,          \* instance ids
  MaxUid,       \* bound: how many times the name is created
  MaxToken,     \* bound: owner tokens of one instance
  MaxContexts   \* bound: contexts that are not proven stopped, over all instances

Uids == 1..MaxUid
Tokens == 1..MaxToken
None == "none"

VARIABLES
  uid,     \* the UID that the name has, or had last
  phase,   \* "open", "closing" (a DELETE is accepted) or "free" (it succeeded)
  bound,   \* whether an undeleted WorkerVersion names this UID
  inst,    \* for each id: held, own, token, work (the UID whose owner recorded the step, or 0),
           \* timer (the UID for which a retry's delay runs, or 0), end (the terminal outcome, or "none")
  ctx      \* contexts not proven stopped: uid, id, token, and whether an attempt is open

vars == <<uid, phase, bound, inst, ctx>>

Absent == [held |-> FALSE, own |-> 0, token |-> 0, work |-> 0, timer |-> 0, end |-> None]

Init ==
  /\ uid = 1
  /\ phase = "open"
  /\ bound = FALSE
  /\ inst = [i \in Ids |-> Absent]
  /\ ctx = {}

Live(i) == inst[i].held /\ inst[i].end = None
Alive(i) == {c \in ctx : c.id = i}
Context(i, t) == {c \in ctx : c.id = i /\ c.token = t}
Busy(i, t) == \E c \in Context(i, t) : c.busy
\* The contexts with an instance fenced: nothing of it is open any more.
Fenced(i) == {IF c.id = i THEN [c EXCEPT !.busy = FALSE] ELSE c : c \in ctx}
\* MayLose bounds the faults, so that the work never runs out of tokens: one attempt, and one claim to settle.
MayLose(i) == ~Live(i) \/ inst[i].token + (IF inst[i].work = 0 THEN 1 ELSE 0) < MaxToken

-----------------------------------------------------------------------------
Bind ==
  /\ phase = "open"
  /\ ~bound
  /\ bound' = TRUE
  /\ UNCHANGED <<uid, phase, inst, ctx>>

Unbind ==
  /\ bound
  /\ bound' = FALSE
  /\ UNCHANGED <<uid, phase, inst, ctx>>

\* Callers call through a Binding.
Create(i) ==
  /\ phase = "open"  \* DEL-3 at the create
  /\ bound
  /\ ~inst[i].held  \* BND-3
  /\ inst' = [inst EXCEPT ![i] = [Absent EXCEPT !.held = TRUE]]
  /\ UNCHANGED <<uid, phase, bound, ctx>>

Terminate(i) ==
  /\ bound
  /\ Live(i)  \* TRM-3
  /\ inst' = [inst EXCEPT ![i].end = "terminated", ![i].own = 0, ![i].timer = 0, ![i].token = 0]
  /\ ctx' = Fenced(i)
  /\ UNCHANGED <<uid, phase, bound>>

Claim(i) ==
  /\ phase = "open"  \* DEL-3 at the claim
  /\ Live(i)
  /\ inst[i].own = 0
  /\ inst[i].timer = 0
  /\ Cardinality(ctx) < MaxContexts
  /\ inst[i].token < MaxToken
  /\ inst' = [inst EXCEPT ![i].own = inst[i].token + 1, ![i].token = inst[i].token + 1]
  /\ ctx' = ctx \cup {[uid |-> uid, id |-> i, token |-> inst[i].token + 1, busy |-> FALSE]}
  /\ UNCHANGED <<uid, phase, bound>>

BeginStep(i, t) ==
  /\ Live(i)
  /\ t = inst[i].own
  /\ inst[i].work = 0
  /\ Context(i, t) # {}
  /\ ~Busy(i, t)
  /\ ctx' = {IF c \in Context(i, t) THEN [c EXCEPT !.busy = TRUE] ELSE c : c \in ctx}
  /\ UNCHANGED <<uid, phase, bound, inst>>

\* The report of the owner of token t of UID u; it may come when u is long gone.
CommitAttempt(u, i, t) ==
  /\ u <= uid
  /\ u = uid  \* DEL-5
  /\ Live(i)
  /\ t = inst[i].own  \* PUB-2
  /\ Busy(i, t)
  /\ ctx' = {IF c \in Context(i, t) THEN [c EXCEPT !.busy = FALSE] ELSE c : c \in ctx}
  /\ \/ inst' = [inst EXCEPT ![i].work = u]
     \/ /\ inst[i].token < MaxToken
        /\ inst' = [inst EXCEPT ![i].own = 0, ![i].timer = u]
  /\ UNCHANGED <<uid, phase, bound>>

Settle(i, t) ==
  /\ Live(i)
  /\ t = inst[i].own
  /\ inst[i].work # 0
  /\ ~Busy(i, t)
  /\ inst' = [inst EXCEPT ![i].end = "complete", ![i].own = 0, ![i].token = 0]  \* RET-3
  /\ ctx' = Fenced(i)
  /\ UNCHANGED <<uid, phase, bound>>

Wake(i) ==
  /\ phase = "open"  \* DEL-3 at the wake
  /\ Live(i)
  /\ inst[i].own = 0
  /\ inst[i].timer # 0
  /\ inst' = [inst EXCEPT ![i].timer = 0]
  /\ UNCHANGED <<uid, phase, bound, ctx>>

Expire(i) ==
  /\ inst[i].own # 0
  /\ MayLose(i)
  /\ inst' = [inst EXCEPT ![i].own = 0]  \* GRT-8
  /\ ctx' = Fenced(i)
  /\ UNCHANGED <<uid, phase, bound>>

Crash(i, t) ==
  /\ Context(i, t) # {}
  /\ t = inst[i].own => MayLose(i)
  /\ inst' = IF t = inst[i].own THEN [inst EXCEPT ![i].own = 0] ELSE inst
  /\ ctx' = ctx \ Context(i, t)
  /\ UNCHANGED <<uid, phase, bound>>

StopAck(i, t) ==
  /\ Context(i, t) # {}
  /\ t # inst[i].own  \* PUB-1
  /\ ctx' = ctx \ Context(i, t)
  /\ UNCHANGED <<uid, phase, bound, inst>>

\* DELETE is accepted: nothing new, every owner fenced.
Close ==
  /\ phase = "open"
  /\ ~bound  \* DEL-1
  /\ TRUE  \* DEL-2
  /\ phase' = "closing"
  /\ inst' = [i \in Ids |-> [inst[i] EXCEPT !.own = 0]]  \* DEL-3 at the close
  /\ ctx' = {[c EXCEPT !.busy = FALSE] : c \in ctx}
  /\ UNCHANGED <<uid, bound>>

\* Every context is stopped: everything under the UID is purged, and the DELETE succeeds.
Purge ==
  /\ phase = "closing"
  /\ ctx = {}  \* DEL-3 at the purge
  /\ phase' = "free"
  /\ inst' = [i \in Ids |-> Absent]  \* DEL-7 at the purge
  /\ UNCHANGED <<uid, bound, ctx>>

Recreate ==
  /\ phase = "free"  \* DEL-4
  /\ uid < MaxUid
  /\ uid' = uid + 1  \* DEL-7 at the re-creation
  /\ phase' = "open"
  /\ UNCHANGED <<bound, inst, ctx>>

Next ==
  \/ Bind
  \/ Unbind
  \/ \E i \in Ids : Create(i)
  \/ \E i \in Ids : Terminate(i)
  \/ \E i \in Ids : Claim(i)
  \/ \E i \in Ids, t \in Tokens : BeginStep(i, t)
  \/ \E u \in Uids, i \in Ids, t \in Tokens : CommitAttempt(u, i, t)
  \/ \E i \in Ids, t \in Tokens : Settle(i, t)
  \/ \E i \in Ids : Wake(i)
  \/ \E i \in Ids : Expire(i)
  \/ \E i \in Ids, t \in Tokens : Crash(i, t)
  \/ \E i \in Ids, t \in Tokens : StopAck(i, t)
  \/ Close
  \/ Purge
  \/ Recreate

Spec == Init /\ [][Next]_vars

Work(i, t) == BeginStep(i, t) \/ CommitAttempt(uid, i, t) \/ Settle(i, t)
Fairness ==
  /\ \A i \in Ids : SF_vars(Claim(i))
  /\ \A i \in Ids : WF_vars(\E t \in Tokens : Work(i, t))
  /\ \A i \in Ids : WF_vars(Wake(i))
  /\ \A i \in Ids : WF_vars(\E t \in Tokens : StopAck(i, t))
  /\ WF_vars(Purge)
FairSpec == Spec /\ Fairness

-----------------------------------------------------------------------------
\* What callers see of an instance.
Status(i) ==
  CASE ~inst[i].held -> "unknown"
    [] Alive(i) # {} -> "running"  \* PUB-1 in what is seen
    [] inst[i].end # None -> inst[i].end
    [] inst[i].timer # 0 -> "sleeping"
    [] OTHER -> "queued"

Outcome(i) == IF inst[i].work = 0 THEN <<"none", 0, "">> ELSE <<"done", inst[i].work, "">>

Observed == INSTANCE DurableWorkflow WITH
  Steps <- {"a"}, Types <- {"go"}, Values <- Uids, MaxEvents <- 0,
  status <- [i \in Ids |-> Status(i)],
  code <- [i \in Ids |-> Alive(i) # {}],
  steps <- [i \in Ids |-> [s \in {"a"} |-> Outcome(i)]],
  inbox <- [i \in Ids |-> <<>>],
  accepted <- [i \in Ids |-> 0],
  deadline <- [i \in Ids |-> IF inst[i].timer # 0 THEN "past" ELSE "off"],
  over <- [i \in Ids |-> FALSE],
  end <- [i \in Ids |-> inst[i].end]

\* Refines (DEL-2, DEL-3, DEL-5, DEL-7, RES-10): every behaviour is one that callers may observe.
Refines == Observed!Spec

-----------------------------------------------------------------------------
\* Shape (PUB-2): an owner has a context, tokens name contexts, and what is not held is empty.
Shape ==
  \A i \in Ids :
    /\ inst[i].own # 0 => Live(i) /\ Context(i, inst[i].own) # {}
    /\ \A c \in Alive(i) : Live(i) => c.token <= inst[i].token
    /\ ~inst[i].held => inst[i] = Absent

\* NothingOld (DEL-5, DEL-7): nothing that an owner of an older UID wrote or set is in the present one.
NothingOld ==
  /\ \A i \in Ids : inst[i].work \in {0, uid} /\ inst[i].timer \in {0, uid}
  /\ \A c \in ctx : c.uid = uid

\* FreeMeansEmpty (DEL-3, DEL-4): once the DELETE succeeded nothing is held and nothing runs.
FreeMeansEmpty == phase = "free" => ctx = {} /\ \A i \in Ids : inst[i] = Absent

\* ClosedFences (DEL-3, DEL-5): from the close on nobody owns anything.
ClosedFences == phase # "open" => \A i \in Ids : inst[i].own = 0

\* LiveDoesNotBlock (DEL-1, DEL-2): without a Binding a DELETE is accepted, whatever runs.
LiveDoesNotBlock == phase = "open" /\ ~bound => ENABLED Close

\* BindingBlocks (DEL-1): a DELETE is accepted only without a Binding.
BindingBlocks == [][phase = "open" /\ phase' = "closing" => ~bound]_vars

\* NothingNew (DEL-3, DEL-5): after the close nothing is created, claimed, recorded or woken.
NothingNew ==
  [][phase # "open" /\ uid' = uid /\ phase' = phase =>
       \A i \in Ids :
         /\ inst'[i].held = inst[i].held
         /\ inst'[i].own = 0
         /\ inst'[i].work = inst[i].work
         /\ inst'[i].timer \in {inst[i].timer} \cup (IF inst'[i].end = None THEN {} ELSE {0})]_vars

\* NewUid (DEL-4, DEL-7): the name is given again only once it is free, and under a new UID.
NewUid == [][phase = "free" /\ phase' = "open" <=> uid' = uid + 1]_vars

\* OnlyDeleteForgets (RET-3, DEL-4): an instance leaves only with a DELETE that succeeds.
OnlyDeleteForgets == [][\A i \in Ids : inst[i].held /\ ~inst'[i].held => phase' = "free"]_vars

\* Once (GRT-3): what was recorded stays until the purge.
Once == [][\A i \in Ids : inst[i].work # 0 => inst'[i].work \in {inst[i].work} \cup (IF phase' = "free" THEN {0} ELSE {})]_vars

\* Final (TRM-3): an outcome stays until the purge.
Final == [][\A i \in Ids : inst[i].end # None => inst'[i].end = inst[i].end \/ phase' = "free"]_vars

\* Apart (PUB-2): an action on one instance leaves the other alone.
Apart == [][phase' = phase => \A i, j \in Ids : inst'[i] # inst[i] /\ inst'[j] # inst[j] => i = j]_vars

\* DeleteEnds (DEL-4): once stops can be proven a DELETE succeeds.
DeleteEnds == phase = "closing" ~> phase = "free"

\* EveryRunEnds (GRT-8): an instance ends, or its resource is deleted.
EveryRunEnds == \A i \in Ids : inst[i].held ~> (inst[i].end # None \/ phase # "open")

-----------------------------------------------------------------------------
(* Baits: each is false somewhere, which shows that the state is reached.  *)

\* BaitSecondLife (DEL-7): an instance of a second UID has an owner with a token that the first one had too.
BaitSecondLife == ~(uid = 2 /\ \E i \in Ids : inst[i].own # 0 /\ Busy(i, inst[i].own))
\* BaitClosingRuns (DEL-4): a DELETE waits for a context that is not proven stopped.
BaitClosingRuns == ~(phase = "closing" /\ ctx # {})
\* BaitClosingTimer (DEL-3): a DELETE meets an instance that waits for its retry.
BaitClosingTimer == ~(phase = "closing" /\ \E i \in Ids : inst[i].timer # 0)
\* BaitClosingQueued (DEL-2): a DELETE meets an instance that never ran.
BaitClosingQueued == ~(phase = "closing" /\ \E i \in Ids : inst[i].held /\ inst[i].token = 0 /\ inst[i].end = None)
\* BaitComplete (ABI-3): an instance of a second UID completes.
BaitComplete == ~(uid = 2 /\ \E i \in Ids : Status(i) = "complete")
=============================================================================
