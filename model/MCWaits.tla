----------------------------- MODULE MCWaits -----------------------------
(* Bounded programs for Waits. *)
EXTENDS Waits

TwoTypes == [go |-> 1, no |-> 2]

SmallBody == [two |-> <<Wait("go", 1), Wait("go", 1)>>, nap |-> <<Sleep(1), Wait("no", 1)>>]
CIBody == [three |-> <<Wait("go", 1), Sleep(1), Wait("go", 2)>>, both |-> <<Wait("no", 2), Sleep(0), Wait("go", 1)>>]
DeepBody == [three |-> <<Wait("go", 2), Wait("no", 1), Wait("go", 1)>>,
             nap |-> <<Sleep(2), Wait("go", 2), Wait("go", 1)>>]
=============================================================================
