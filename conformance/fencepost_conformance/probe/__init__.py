"""The probe: one Workflow class that does what a scenario's program says, and knows no expected answer."""

from .interpreter import Probe, load

__all__ = ["Probe", "load"]
