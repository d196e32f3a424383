"""One Hypothesis profile for every room: the same examples in each run, and no deadline when it is busy."""

from hypothesis import settings

settings.register_profile("fencepost", derandomize=True, deadline=None)
settings.load_profile("fencepost")
