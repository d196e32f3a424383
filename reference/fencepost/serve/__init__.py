"""A reference Host on loopback: the caller's binding as plain HTTP and JSON, and a live page about it.

`face` has the five calls of the binding, `page` what the browser asks for, and `server` runs both in front
of a Host until a signal ends it. Nothing here knows a rule: requests become calls of `fencepost.Host`, and
the page shows what the Host's snapshot and its moments say.

Starlette and uvicorn come with the extra `serve`.
"""
