"""Host API v2 over HTTP: the management machine behind a socket, and the Workers that it deploys.

`face` turns a request into one action of the machine and the machine's reply into a response; `steward`
keeps the machine's state, moves Operations on and brings it the reports of the data plane; `plane` runs the
instances of every Workflow, and `workers` the default `fetch` handlers of what is deployed. No rule of the
API lives here: bytes, headers and addresses do.

Starlette and uvicorn come with the extra `serve`, Node with the extra `js`.
"""
