"""The reference Host under the real clock for a class in JavaScript: contexts are processes of Node."""

import json
import threading
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import IO, Any

from fencepost.contexts.forkserver import CannotLoad
from fencepost.contexts.network import fetch
from fencepost.contexts.node import Conversation, Fetch, JavaScript
from fencepost.contexts.node_process import Pool, ProcessLost
from fencepost.host.engine import Key
from fencepost.host.launching import Running
from fencepost.host.node_launching import LOOK_SECONDS, NodeCode, Nodes
from fencepost.host.running import RunningHost
from fencepost.machine import Rules
from fencepost.machine.state import Instance

EVALUATION_SECONDS = 10.0
"""How long a module may take to be evaluated when it is looked at."""


class NodeHost(RunningHost):
    """Runs one workflow class in JavaScript until it is closed; a context manager. `env` is JSON data.

    `CannotLoad` when the module has no such class, `NodeMissing` when there is no Node. What a context logs
    goes to `log`, by default to where this process does.
    """

    def __init__(
        self,
        module: JavaScript,
        class_name: str,
        *,
        env: Mapping[str, Any] = MappingProxyType({}),
        rules: Rules | None = None,
        fetch: Fetch = fetch,
        log: IO[Any] | int | None = None,
    ) -> None:
        super().__init__(rules)
        self._nodes = Nodes(fetch=fetch, log=log)
        self._env = json.loads(json.dumps(dict(env)))
        self._code = NodeCode(class_name, self._env, module)
        try:
            require(self._nodes, module, class_name)
        except BaseException:  # also an interrupt
            self._nodes.close()
            raise
        self.begin()

    @property
    def pool(self) -> Pool:
        """Where contexts get their processes."""
        return self._nodes.pool

    def end_contexts(self) -> None:
        """End what starts processes, and all that it has started."""
        self._nodes.close()

    def launch(self, key: Key, token: int, instance: Instance) -> Running:
        """Start the thread of a context, which takes a process."""
        return self._nodes.launch(self, key, token, instance, self._code)


def require(nodes: Nodes, module: JavaScript, name: str) -> None:
    """Raise `CannotLoad` if the module has no workflow class of this name (ABI-5)."""
    exports = _look(nodes, module, "exports", "inspection").get("exports")
    if exports is None:  # as a workflow it complains
        _look(nodes, module, "settle", "workflow", **{"class": name, "instanceId": "", "params": None})
        raise CannotLoad("the module cannot be evaluated; what is wrong stands above")
    classes = [each for each, fit in exports.items() if fit]
    if name not in classes:
        offered = f"it has {', '.join(classes)}" if classes else "it exports no class with a method run"
        raise CannotLoad(f"the module has no workflow class {name}; {offered}")


def _look(nodes: Nodes, module: JavaScript, word: str, purpose: str, **more: Any) -> Mapping[str, Any]:
    """The message with this word, or an empty one if a process does not come to it in time."""
    wake, given_up = threading.Event(), time.monotonic() + EVALUATION_SECONDS
    conversation = Conversation(module.start(purpose, {}, **more), {}, nodes.fetch, nodes.pool, wake.set)
    try:
        while time.monotonic() < given_up:
            message = conversation.turn()
            if message is not None and (word in message or "broken" in message):
                return message
            if not wake.wait(LOOK_SECONDS) and conversation.due is not None:
                conversation.say(fire="due")
            wake.clear()
    except ProcessLost:
        pass
    finally:
        conversation.stop()
    return {}
