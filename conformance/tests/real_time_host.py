"""A Host on real time, for tests: the reference, whose clock a thread moves as time passes.

It offers no `clock`. `python:real_time_host:fair` is in time; the others are late or broken in one way.
"""

import threading
import time

from fencepost.host.managed import ManagedHost
from fencepost_conformance.faults import load
from fencepost_conformance.hosts.reference import ReferenceAdapter

TICK_SECONDS = 0.02
LATE_SECONDS = 1.0
CALLS = ("create", "get", "status", "send_event", "terminate", "restart")


class RealTime(ReferenceAdapter):
    """`tick` seconds lie between two looks at the deadlines; the clock runs at a `pace`."""

    name = "real-time"
    lease_seconds = 2

    def __init__(self, host_class=ManagedHost, tick=TICK_SECONDS, pace=1.0):
        leased = type("Leased", (host_class,), {"lease_seconds": self.lease_seconds})
        super().__init__(leased)
        self._tick, self._pace = tick, pace
        self._lock = threading.RLock()
        self._going = False
        for call in CALLS:
            setattr(self, call, self._in_time(getattr(self, call)))
        threading.Thread(target=self._pass, daemon=True).start()

    def handshake(self, hello):
        return {**super().handshake(hello), "instruments": ["journal", "restart"]}

    def begin(self, setup):
        with self._lock:
            setup.journal.release = self._locked(setup.journal.release)
            setup.journal.counts = self._locked(setup.journal.counts)
            super().begin(setup)
            self._began, self._moved, self._going = time.monotonic(), 0, True
            self.host.hold_wakes(True)

    def end(self):
        with self._lock:
            self._going = False
            return super().end()

    def _pass(self):
        while True:
            time.sleep(self._tick)
            with self._lock:
                if self._going:
                    self._move()
                    self._wake()

    def _wake(self):
        self.host.hold_wakes(False)
        self.host.settle()
        self.host.hold_wakes(True)

    def _move(self):
        due = round((time.monotonic() - self._began) * self._pace * 1000)
        self.host.advance(due - self._moved)
        self._moved = due

    def _locked(self, call):
        def locked(*arguments):
            with self._lock:
                return call(*arguments)

        return locked

    def _in_time(self, call):
        def in_time(*arguments, **named):
            with self._lock:
                self._move()
                self.host.settle()
                return call(*arguments, **named)

        return in_time


class NeverWakes(RealTime):
    def _wake(self):
        pass


def broken(name):
    """The faulty host of that name, on real time."""
    return RealTime(load()[name].make()._host_class)


def fair():
    return RealTime()


def late():
    return RealTime(tick=LATE_SECONDS)


def early():
    return RealTime(pace=60.0)


def never_wakes():
    return NeverWakes()


def loses_events():
    return broken("lost-before-the-wait")


def repeats_effects():
    return broken("effects-run-twice")
