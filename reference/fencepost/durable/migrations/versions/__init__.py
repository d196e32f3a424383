"""The steps, named by their version."""
