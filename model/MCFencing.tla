---------------------------- MODULE MCFencing ----------------------------
(* Bounded programs for Fencing. *)
EXTENDS Fencing

SmallBody == [retry |-> <<Do(2, 1)>>, again |-> <<Do(2, 0)>>, nap |-> <<Sleep(1)>>, pair |-> <<Do(1, 0), Sleep(0)>>]
CIBody == [twice |-> <<Do(2, 0), Do(1, 0)>>, later |-> <<Do(2, 1), Sleep(0)>>, nap |-> <<Sleep(1), Do(2, 0)>>]
DeepBody == [twice |-> <<Do(2, 0), Do(2, 1)>>, nap |-> <<Do(1, 0), Sleep(1), Do(2, 0)>>]
=============================================================================
