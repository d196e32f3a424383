"""Who a caller is: bearer credentials that the operator keeps in variables of the environment.

A grant is written `PRINCIPAL=VARIABLE` or `PRINCIPAL=VARIABLE:SPACE,SPACE`; the secret itself never stands
on a command line. Without any grant there is one principal and the scheme `None`, which is for a boundary
that only this machine can cross.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fencepost.management.values import identifier

SPACE = "default"
LOCAL = "local"
LEAST_SECRET = 16

_GRANT = re.compile(r"(?P<principal>[^=:]+)=(?P<variable>[A-Za-z_][A-Za-z0-9_]*)(?::(?P<spaces>.+))?")
_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)


class BadGrant(ValueError):
    """A grant that cannot be made: one line that says what to do."""


@dataclass(frozen=True)
class Caller:
    """An authenticated principal, and the Spaces that it may use."""

    principal: str
    spaces: frozenset[str]


class Access:
    """The callers of one Host, by the digests of their secrets; with none of them everybody is local."""

    def __init__(self, secrets: Mapping[str, Caller]) -> None:
        self._callers = {_digest(secret): caller for secret, caller in secrets.items()}
        self._local = None if secrets else Caller(LOCAL, frozenset({SPACE}))

    @property
    def schemes(self) -> tuple[str, ...]:
        """The schemes that discovery names."""
        return ("Bearer",) if self._local is None else ("None",)

    def caller(self, authorization: list[str]) -> Caller | None:
        """Who sends these Authorization headers, or nobody that is known."""
        if self._local is not None:
            return self._local
        sent = _BEARER.fullmatch(authorization[0].strip()) if len(authorization) == 1 else None
        if sent is None:
            return None
        found, wanted = None, _digest(sent[1])
        for digest, caller in self._callers.items():  # every one, so that the time says nothing
            if hmac.compare_digest(digest, wanted):
                found = caller
        return found

    def challenge(self, authorization: list[str]) -> str:
        """What WWW-Authenticate says to somebody who is not known."""
        return 'Bearer realm="fencepost"' + (', error="invalid_token"' if authorization else "")


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def granted(grants: Iterable[str], environment: Mapping[str, str]) -> Access:
    """Access by grants, with their secrets from an environment; raises BadGrant."""
    secrets: dict[str, Caller] = {}
    for grant in grants:
        parts = _GRANT.fullmatch(grant)
        spaces = frozenset((parts["spaces"] or SPACE).split(",")) if parts else frozenset[str]()
        if parts is None or not identifier(parts["principal"]) or not all(map(identifier, spaces)):
            raise BadGrant(f"{grant}: give PRINCIPAL=VARIABLE or PRINCIPAL=VARIABLE:SPACE,SPACE")
        secret = environment.get(parts["variable"], "")
        if len(secret) < LEAST_SECRET or not _BEARER.fullmatch(f"Bearer {secret}"):
            raise BadGrant(
                f"set the variable {parts['variable']} to a secret of {LEAST_SECRET} or more letters, "
                "digits, . _ ~ + / or -"
            )
        if secret in secrets:
            raise BadGrant(f"{grant}: give every principal a secret of its own")
        secrets[secret] = Caller(parts["principal"], spaces)
    return Access(secrets)
