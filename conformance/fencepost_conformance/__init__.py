"""The kit: scenarios, adapters, verdicts, reports and the command line."""
