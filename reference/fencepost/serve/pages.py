"""What a browser asks for: one page with its style and scripts, out of the package, and the stream of frames.

The page may load and call nothing but this server, and be put into no other page.
"""

from __future__ import annotations

from importlib import resources

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from fencepost.serve.answers import HEADERS
from fencepost.serve.board import STATUSES, Viewer
from fencepost.serve.feed import Feed

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
INDEX = "index.html"


def routes(feed: Feed) -> list[Route]:
    """The page, its parts and its stream."""
    folder = resources.files(__package__) / "page"
    parts = {each.name: _part(each.name, each.read_bytes()) for each in folder.iterdir() if each.is_file()}

    async def stream(request: Request) -> Response:
        wanted = request.query_params
        status = wanted.get("status", "")
        viewer = Viewer(status if status in STATUSES else "", wanted.get("search", ""), wanted.get("id"))
        return StreamingResponse(feed.frames(viewer), 200, HEADERS, "text/event-stream")

    return [
        Route("/", parts.pop(INDEX), methods=["GET"]),
        Route("/page/feed", stream, methods=["GET"]),
        *(Route(f"/page/{name}", part, methods=["GET"]) for name, part in parts.items()),
    ]


def _part(name: str, data: bytes) -> Response:
    headers = HEADERS | {"content-security-policy": _POLICY}
    return Response(data, 200, headers, _TYPES[name.rpartition(".")[2]])
