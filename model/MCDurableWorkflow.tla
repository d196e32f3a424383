------------------------ MODULE MCDurableWorkflow ------------------------
(* DurableWorkflow by itself: its bounds are all in the configurations. *)
EXTENDS DurableWorkflow
=============================================================================
