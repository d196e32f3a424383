"""A Worker in JavaScript: requests to `fetch` of its module's default export, in a process of its own."""

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from fencepost.contexts.node import (
    Conversation,
    Fetch,
    JavaScript,
    Request,
    Response,
    believed,
    content_in,
    content_out,
    no_network,
)
from fencepost.contexts.node_process import Pool, ProcessLost


class Worker:
    """Answers requests, several at a time; the bindings in its `env` are called as it goes."""

    def __init__(
        self,
        module: JavaScript,
        env: Mapping[str, Any],
        *,
        fetch: Fetch = no_network,
        pool: Pool | None = None,
    ) -> None:
        self._conversation = Conversation(module.start("worker", env), env, fetch, pool)
        self._conversation.on("response", self._take_response)
        self._waiting: dict[int, Future[Response]] = {}
        self._unsent: list[dict[str, Any]] = []
        self._last = 0
        self.lost = False
        self._turning = False

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._conversation.process.pid

    def request(self, request: Request) -> Future[Response]:
        """Hand a request over and give turns; the future may be done at once."""
        self._last += 1
        answer = self._waiting[self._last] = Future[Response]()
        head = {"request": self._last, "method": request.method, "url": request.url}
        self._unsent.append(
            head | {"headers": [list(each) for each in request.headers]} | content_out(request.body)
        )
        self.turn()
        return answer

    def turn(self) -> None:
        """Give turns until there is nothing to do; does nothing where it is called from within one."""
        if self._turning:
            return
        self._turning = True
        try:
            while True:
                if self._unsent:
                    self._conversation.say(requests=self._unsent)
                    self._unsent = []
                if self._conversation.turn() is None and not self._unsent:
                    return
        except ProcessLost as error:
            self.lost = True
            self._fail(error)
        finally:
            self._turning = False

    def fire_ticks(self) -> None:
        """Let every timer fire once, at the next turn."""
        if self._conversation.timer is not None:
            self._conversation.say(fire="all")

    def stop(self) -> None:
        """Kill the process; requests in flight are never answered."""
        self._conversation.stop()

    def _take_response(self, message: dict[str, Any]) -> bool:
        with believed():
            answer = self._waiting.pop(message["response"])
            if "failed" in message:
                response = Response(failed=str(message["failed"]))
            else:
                headers = tuple((str(name), str(value)) for name, value in message["headers"])
                response = Response(int(message["status"]), content_in(message) or b"", headers)
        answer.set_result(response)
        return True

    def _fail(self, error: Exception) -> None:
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            answer.set_exception(error)
