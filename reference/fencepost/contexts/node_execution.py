"""One context of a workflow in JavaScript, under whoever gives it turns; it has the face of `Execution`.

The process waits in the middle of a step call for its answer. Where the machine has ended the context there,
it hears nothing: it stands in the call until it is killed, so no code of it runs again (STP-6, STP-12).
"""

from collections.abc import Callable, Mapping
from typing import Any

from fencepost.contexts.execution import EffectBegan, Lost, More, Port, Quiet, Signal
from fencepost.contexts.node import Conversation, Fetch, JavaScript, believed, no_network
from fencepost.contexts.node_process import Pool, ProcessLost
from fencepost.contexts.wire import proposal_in, reply_out
from fencepost.machine.replies import BadArgument, Impossible, Pending, Recorded, Reply, Run

_KINDS = ("do", "sleep", "wait")


class NodeExecution:
    """The application code of one context, in a process of its own."""

    def __init__(
        self,
        module: JavaScript,
        class_name: str,
        env: Mapping[str, Any],
        instance_id: str,
        params: bytes | None,
        port: Port,
        *,
        fetch: Fetch = no_network,
        pool: Pool | None = None,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        given = None if params is None else params.decode()
        start = module.start(
            "workflow", env, **{"class": class_name, "instanceId": instance_id, "params": given}
        )
        self.dead = False
        self.open_step: str | None = None
        self._port = port
        self._standing = False  # in a step call that is not answered
        self._lost = False
        self._conversation = Conversation(start, env, fetch, pool, wake)
        self._conversation.on("begin", self._begin)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._conversation.process.pid

    @property
    def timer(self) -> float | None:
        """Milliseconds from the end of the last turn until a timer is due, or None."""
        return self._conversation.timer

    @property
    def due(self) -> float | None:
        """The instant at which a timer is due, as `time.monotonic` counts, or None."""
        return self._conversation.due

    @property
    def computing(self) -> bool:
        """Whether a turn has gone on for so long that `turn` did not wait for its end."""
        return self._conversation.computing

    @property
    def turns(self) -> "NodeExecution":
        """Who drives this context's turns: itself."""
        return self

    def turn(self) -> Signal:
        """Give one turn if there is anything to do, and say what it came to."""
        if self._lost:
            return Lost()
        if self._standing:
            return Quiet()
        try:
            message = self._conversation.turn()
            return Quiet() if message is None else self._signal(message)
        except ProcessLost:
            self._lost = True
            return Lost()

    def fire_ticks(self) -> None:
        """Let every timer fire once, at the next turn."""
        if self.timer is not None:
            self._conversation.say(fire="all")

    def fire_due(self) -> None:
        """Let the timers fire whose time has come, at the next turn."""
        self._conversation.say(fire="due")

    def deliver(self, reply: Reply) -> None:
        """Take the Host's answer to the last proposal."""
        if isinstance(reply, Recorded | BadArgument):
            self.open_step = None
            self._conversation.say(reply=reply_out(reply))
        else:
            self._die()
            self._lost = isinstance(reply, Impossible)  # no runtime proposes that

    def discard(self) -> None:
        """Kill the process; when this returns it is gone, whatever it was doing (PUB-1, TRM-1)."""
        self._conversation.stop()

    def _die(self) -> None:
        self.dead = True
        self._conversation.say(dead=True)

    def _begin(self, message: dict[str, Any]) -> bool:
        with believed():
            kind, name, arguments = message["begin"], message["name"], dict(message["arguments"])
            if kind not in _KINDS:
                raise ValueError(f"no step call: {kind!r}")
        reply = self._port.begin(kind, name, arguments)
        if isinstance(reply, Run | Pending):
            self.open_step = name
        elif not isinstance(reply, Recorded | BadArgument):
            self.dead = self._standing = True
            return False
        self._conversation.answer(reply_out(reply))
        return True

    def _signal(self, message: Mapping[str, Any]) -> Signal:
        if "quiet" in message:
            return More() if self._conversation.answered else Quiet()
        if "more" in message:
            return More()
        with believed():
            for word in ("began", "park", "commit"):
                if word in message and message[word] != self.open_step:
                    raise ValueError(f"{message[word]!r} is not open")
            return EffectBegan(message["began"]) if "began" in message else proposal_in(message)
