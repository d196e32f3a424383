"""Hosts: the machine, contexts and a clock put together."""
