---------------------------- MODULE MCResource ----------------------------
(* Resource has no programs: its bounds are all in the configurations. *)
EXTENDS Resource
=============================================================================
