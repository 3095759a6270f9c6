#!/usr/bin/python3
"""An HTTP proxy on a port of its own choice, which it prints; then each address that it is asked for."""
import http.server
import shutil
import urllib.error
import urllib.request


class Proxy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print(self.path, flush=True)
        headers = {name: self.headers[name]
                   for name in ("Range", "If-Range", "If-Modified-Since") if self.headers[name]}
        try:
            answer = urllib.request.urlopen(urllib.request.Request(self.path, headers=headers))
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            self.send_response(answer.status)
            for name in ("Content-Length", "Content-Range", "Last-Modified", "ETag"):
                if answer.headers[name]:
                    self.send_header(name, answer.headers[name])
            if not answer.headers["Content-Length"]:
                self.send_header("Connection", "close")
            self.end_headers()
            shutil.copyfileobj(answer, self.wfile)

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
print(server.server_address[1], flush=True)
server.serve_forever()
