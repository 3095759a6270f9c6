#!/usr/bin/python3
"""Takes webhooks whose signature is right, as docs/notifications.md tells receivers to, and writes each
body as a line.

Usage: webhook_receiver.py PORT FILE-OF-KEY FILE-OF-BODIES
"""
import hashlib
import hmac
import http.server
import json
import pathlib
import sys
import time

KEY = pathlib.Path(sys.argv[2]).read_bytes()
BODIES = pathlib.Path(sys.argv[3])
MAX_AGE_S = 300


def is_from_muster(headers, body):
    timestamp = headers.get("X-Muster-Timestamp", "")
    wanted = "sha256=" + hmac.new(KEY, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return (hmac.compare_digest(wanted, headers.get("X-Muster-Signature", ""))
            and abs(time.time() - int(timestamp)) < MAX_AGE_S)


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):  # noqa: N802, the library's name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_right = is_from_muster(self.headers, body)
        if is_right:
            with BODIES.open("a", encoding="utf-8") as bodies:
                bodies.write(json.dumps(json.loads(body)) + "\n")
        self.send_response(204 if is_right else 403)
        self.end_headers()


http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
