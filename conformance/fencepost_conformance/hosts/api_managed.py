"""The instruments `versions` and `resource` over Host API v2, for any adapter whose Host is managed so."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any

from fencepost.host.managed import KINDS
from fencepost.management import forms

from ..adapter import Setup
from ..host_api import HostApi, Told
from ..probe_bundle import Bundles
from .api_probe import Deployed


class ManagedThroughApi:
    """Makes the management calls of one scenario; `spaces` are those of the Host, by the names of the kit."""

    def __init__(
        self,
        api: HostApi,
        bundles: Bundles,
        spaces: Mapping[str, str],
        let_run: Callable[[float], object] = time.sleep,
    ) -> None:
        self._api, self._bundles, self._spaces, self._let_run = api, bundles, spaces, let_run
        self._probe: Deployed | None = None
        self._pending = False
        self._numbers = itertools.count(1)

    @property
    def probe(self) -> Deployed:
        """The probe of the present scenario; RuntimeError before `begin`."""
        if self._probe is None:
            raise RuntimeError("begin a scenario first")
        return self._probe

    def set_up(self, setup: Setup, journal: str, caller: bool = True) -> None:
        """Deploy the probe anew, with names of this scenario, and with a caller where one is asked for."""
        self._pending = False
        self._probe = Deployed(
            self._api, self._bundles, setup, self._spaces["default"], journal, self._let_run
        )
        self._probe.set_up(caller)

    def take_down(self) -> None:
        """Delete what this scenario has made, as far as it can be."""
        self._bundles.release()
        self.probe.take_down()
        self._probe = None

    def deploy(self, weights: Mapping[str, int]) -> None:
        """Change the weights in force."""
        self.probe.deploy(weights)

    def resources(self) -> dict[str, str]:
        """The UIDs of what was set up."""
        return self.probe.resources()

    def unbind(self) -> None:
        """Take the caller's Binding away."""
        self.probe.unbind()

    def bind(self) -> None:
        """Bind the Workflow again."""
        self.probe.bind()

    def recreate_resource(self) -> None:
        """Create the Workflow again under its name."""
        self.probe.recreate()

    def verify(self, state: str) -> None:
        """Withhold the bytes of bundles that later Versions are on, or lay them down."""
        self._pending = state == "pending"
        if not self._pending:
            self._bundles.release()

    def resource(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """One management call, as it is given."""
        method = request["method"]
        path, body = "/resources", None
        if method == "POST":
            kind = KINDS[request["kind"]]
            space = self._spaces.get(request["space"], request["space"])
            held = self._pending and kind == "WorkerVersion"
            spec = self._withheld(request["spec"]) if held else request["spec"]
            body = {"form": forms.URLS[kind], "space": space, "name": request["name"], "spec": spec}
        elif "operation" in request:
            path = self._api.operation(request["operation"])
        else:
            path = self._api.resource(request["uid"])
            body = {"spec": request["spec"]} if method == "PUT" else None
        told = self._api.call(
            request["principal"],
            method,
            path,
            body,
            key=request.get("key"),
            generation=request.get("generation"),
        )
        return self._answered(told)

    def _withheld(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """The same spec on a bundle of its own, whose bytes are not there yet."""
        comment = f"{self.probe.token} {next(self._numbers)}"
        return {**spec, "bundle": self.probe.bundle(self._bundles.spec(comment, withhold=True))}

    def _answered(self, told: Told) -> dict[str, Any]:
        shown = told.json
        if told.status >= 400:
            return {"status": told.status, "code": shown.get("code")}
        if "resourceUid" not in shown:
            return {"status": told.status, "resource": shown}
        self.probe.made(shown["resourceUid"])
        return {"status": told.status, "operation": shown}
