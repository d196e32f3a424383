"""A Host by hand, for tests of connections: a program that answers on its standard streams, or by HTTP with
a port file, and does one thing wrong at one op.

``python fake_host.py [--http FILE] [WRONG OP]``. It imports nothing of the kit, as a foreign one would.
"""

import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GREETING = {
    "protocol": "fencepost.adapter@1",
    "host": {"name": "fake", "version": "1"},
    "instruments": ["clock", "restart"],
    "leaseSeconds": 5,
}
FOREVER = 600
MEGABYTE = b"x" * (1 << 20)


def value(request):
    return {"handshake": GREETING, "create": "i", "status": {"status": "complete"}}.get(request["op"])


def answer(request):
    return json.dumps({"ticket": request["ticket"], "ok": value(request)}).encode() + b"\n"


class Program:
    """The standard streams; `terminate` is answered by `settle`."""

    def __init__(self, wrong, op):
        self.wrong, self.op, self.flying = wrong, op, []

    def write(self, data):
        while data:
            data = data[os.write(1, data) :]

    def run(self):
        for line in sys.stdin:
            request = json.loads(line)
            if request["op"] == self.op:
                print(f"{self.wrong} at {self.op}", file=sys.stderr, flush=True)
                getattr(self, self.wrong)(request)
            elif request["op"] == "terminate":
                self.flying.append(request)
            else:
                if request["op"] == "settle":
                    for each in self.flying:
                        self.write(answer(each))
                    self.flying.clear()
                self.write(answer(request))

    # What can go wrong, or is only odd

    def hang(self, request):
        time.sleep(FOREVER)

    def crash(self, request):
        os._exit(3)

    def killed(self, request):
        os.kill(os.getpid(), signal.SIGKILL)

    def half(self, request):
        self.write(answer(request)[:20])
        os._exit(0)

    def garbage(self, request):
        self.write(b"\xff\x00 Listening on port 1\n")

    def blank(self, request):
        self.write(b"\n" + answer(request))

    def closed(self, request):
        os.close(1)
        time.sleep(FOREVER)

    def twice(self, request):
        self.write(answer(request) * 2)

    def other(self, request):
        self.write(answer(request | {"ticket": request["ticket"] + 7}))

    def text(self, request):
        self.write(answer(request | {"ticket": str(request["ticket"])}))

    def without(self, request):
        self.write(b'{"ok": null}\n')

    def both(self, request):
        self.write(b'{"ticket": %d, "ok": null, "fault": "x"}\n' % request["ticket"])

    def nameless(self, request):
        self.write(b'{"ticket": %d, "error": "unknown_instance"}\n' % request["ticket"])

    def fault(self, request):
        self.write(b'{"ticket": %d, "fault": "out of\\n order"}\n' % request["ticket"])

    def flood(self, request):
        while True:
            self.write(MEGABYTE)

    def shout(self, request):
        while True:
            os.write(2, MEGABYTE)

    def chat(self, request):
        os.write(2, MEGABYTE * 8 + b"\nthe last words\n")
        self.write(answer(request))

    def pieces(self, request):
        for byte in answer(request):
            self.write(bytes([byte]))

    def slow(self, request):
        time.sleep(0.3)
        self.write(answer(request))

    def deep(self, request):
        status = b'{"status": "complete", "output": {"d": ' + b"[" * 5000 + b"]" * 5000 + b"}}"
        self.write(b'{"ticket": %d, "ok": %s}\n' % (request["ticket"], status))


class Server(BaseHTTPRequestHandler):
    """The same by HTTP."""

    protocol_version = "HTTP/1.1"
    wrong = op = ""
    settled = threading.Event()

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if request["op"] == self.op:
            getattr(self, self.wrong)(request)
            return
        if request["op"] == "begin":
            self.settled.clear()
        if request["op"] == "settle":
            self.settled.set()
        if request["op"] == "terminate":
            self.settled.wait(FOREVER)
        self.send(answer(request))

    def send(self, body, status=200, length=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass

    def hang(self, request):
        time.sleep(FOREVER)

    def closed(self, request):
        self.close_connection = True

    def half(self, request):
        self.send(answer(request)[:20], length=999)
        self.close_connection = True

    def garbage(self, request):
        self.send(b"<html>")

    def refused(self, request):
        self.send(b"no such thing", status=500)

    def other(self, request):
        self.send(answer(request | {"ticket": request["ticket"] + 7}))

    def gibberish(self, request):
        self.wfile.write(b"220 ready\r\n")
        self.close_connection = True

    def polite(self, request):
        self.close_connection = True
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer(request))

    def slow(self, request):
        time.sleep(0.3)
        self.send(answer(request))


def main(arguments):
    if arguments[:1] == ["--http"]:
        Server.wrong, Server.op = arguments[2:] or ("", "")
        server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
        print(server.server_address[1], flush=True)
        server.serve_forever()
    Program(*(arguments or ("", ""))).run()


if __name__ == "__main__":
    main(sys.argv[1:])
