"""What this Host says of itself where discovery sends its readers: how to authenticate, and what deviates."""

from __future__ import annotations

_COMMON = """\
Fencepost: Host API v2, the reference.

The calls, their answers and the codes of their refusals: {origin}/openapi.json

Five Forms are supported: ModuleWorker 0.3.0, WorkerBundle 0.2.0, WorkerVersion 0.5.0, WorkerDeployment 0.4.0
and DurableWorkflow 0.3.0. Offerings, previews and private inputs are not; neither are other Bindings, assets,
sensitive variables, cron and queues. A request for one of them is refused with a code that says so. A bundle
is run from its main module, which imports nothing.

A deployed Worker with a `fetch` handler answers at {origin}/workers/UID.
"""

_PLAIN = """
Deviation: this Host is served by plain HTTP, on loopback only. The API asks for absolute HTTPS URLs in
discovery (`baseUrl` and both `documentation`); here they are HTTP. Give it a certificate to have them as the
API wants them.
"""

_AUTHENTICATION: dict[str, str] = {
    "Bearer": """
Authentication: send `Authorization: Bearer SECRET`. The operator keeps each secret in a variable of the
environment, and has said which principal it stands for, and which Spaces that principal may use.
""",
    "None": """
Authentication: there is none. This Host listens on loopback only, and the machine is the boundary; whoever
can reach it is the principal `local`, with the Space `default`.
""",
}


def text(origin: str, schemes: tuple[str, ...]) -> str:
    """The page, in plain text."""
    plain = _PLAIN if origin.startswith("http:") else ""
    return _COMMON.format(origin=origin) + plain + "".join(_AUTHENTICATION[each] for each in schemes)
