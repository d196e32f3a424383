"""Contexts: fresh executions of constructor plus ``run``, in this process or in one of their own."""
