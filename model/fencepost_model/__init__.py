"""Runs TLC, reads its graphs and traces, and compares them with the machine."""
