"""A client of Host API v2: what the adapter over HTTP asks with, against any base URL.

It takes the root from discovery, and sends each principal's secret from a variable of the environment. An
answer that is no HTTP or no JSON is a fault that stops the check; whatever status comes is an answer.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from .adapter import AdapterFault

DISCOVERY = "/.well-known/takoform/v2"
SECONDS = 60.0
_BODY_LIMIT = 1 << 26


@dataclass(frozen=True)
class Told:
    """A response: its status, its body, and the JSON in it if there is any."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        """The JSON value; AdapterFault where it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise AdapterFault(
                f"a response with status {self.status} is no JSON: {self.body[:80]!r}"
            ) from None


def exchange(
    url: str, method: str, headers: Mapping[str, str], body: bytes | None = None, seconds: float = SECONDS
) -> Told:
    """One request on a connection of its own; AdapterFault where nobody answers."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    more: dict[str, Any] = {"context": ssl.create_default_context()} if parts.scheme == "https" else {}
    connection = kind(parts.netloc, timeout=seconds, **more)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request(method, target or "/", body, dict(headers))
        response = connection.getresponse()
        return Told(response.status, response.read(_BODY_LIMIT))
    except (OSError, http.client.HTTPException) as error:
        reason = str(error) or type(error).__name__
        raise AdapterFault(f"{method} {url}: nobody answers ({reason})") from error
    finally:
        connection.close()


class HostApi:
    """The API at a base URL; `principals` are names with the variables that hold their secrets."""

    def __init__(
        self, address: str, principals: Mapping[str, str], environment: Mapping[str, str] = os.environ
    ) -> None:
        self.origin = address.rstrip("/")
        self._secrets = {
            principal: _secret(variable, environment) for principal, variable in principals.items()
        }
        told = exchange(self.origin + DISCOVERY, "GET", {})
        if told.status != 200:
            raise AdapterFault(f"{self.origin}{DISCOVERY}: discovery was answered with {told.status}")
        shown = told.json
        try:
            self.base_url = str(shown["baseUrl"])
            self.schemes = tuple(shown["authentication"]["schemes"])
        except (KeyError, TypeError):
            raise AdapterFault("discovery has no baseUrl or no authentication.schemes") from None
        if not self.base_url.startswith(self.origin):
            raise AdapterFault(f"discovery names {self.base_url}, which is not at {self.origin}")

    def knows(self, principal: str) -> bool:
        """Whether there is a secret for a principal."""
        return principal in self._secrets

    def call(
        self,
        principal: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: Any = None,
        generation: Any = None,
        query: Mapping[str, str] | None = None,
    ) -> Told:
        """One call below the root."""
        headers = {"Accept": "application/json"}
        if principal in self._secrets:
            headers["Authorization"] = f"Bearer {self._secrets[principal]}"
        elif self.schemes != ("None",):
            raise AdapterFault(f"no secret for {principal}; give {principal}=VARIABLE with the address")
        if key is not None:
            headers["Idempotency-Key"] = str(key)
        if generation is not None:
            headers["Takoform-Expected-Generation"] = str(generation)
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        asked = self.base_url + path + (f"?{urlencode(query)}" if query else "")
        return exchange(asked, method, headers, data)

    def resource(self, uid: Any) -> str:
        """The path of a Resource."""
        return f"/resources/{quote(str(uid), safe='')}"

    def operation(self, id: Any) -> str:
        """The path of an Operation."""
        return f"/operations/{quote(str(id), safe='')}"


def _secret(variable: str, environment: Mapping[str, str]) -> str:
    try:
        return environment[variable]
    except KeyError:
        raise AdapterFault(f"the variable {variable} is not set; let it hold the bearer secret") from None
