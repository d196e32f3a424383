"""How long a Host waits before the next context of an instance whose last one ended by itself."""

from fencepost.host.engine import LEASE_SECONDS, Key
from fencepost.machine.state import MILLISECONDS

FIRST_MILLISECONDS = 20


def pause(crashes: int) -> int:
    """Milliseconds to wait after one more crash than `crashes` in a row."""
    return min(FIRST_MILLISECONDS << min(crashes, 30), LEASE_SECONDS * MILLISECONDS)


class BackOff:
    """Crashes in a row, by instance: each wait is twice the one before, up to a lease, until something is
    committed."""

    def __init__(self) -> None:
        self._crashes: dict[Key, tuple[int, int]] = {}  # how many in a row, and until when to wait

    def crashed(self, key: Key, now: int) -> int:
        """Count a crash; the instant until which to wait, in milliseconds."""
        crashes, _ = self._crashes.get(key, (0, 0))
        until = now + pause(crashes)
        self._crashes[key] = (crashes + 1, until)
        return until

    def waits(self, key: Key, now: int) -> bool:
        """Whether it is too early for the next context."""
        return key in self._crashes and now < self._crashes[key][1]

    def forget(self, key: Key) -> None:
        """Something was committed."""
        self._crashes.pop(key, None)
