#!/usr/bin/python3
"""Serves the files of a folder by HTTP, with ranges, and as badly as the path says.

Usage: server.py ADDRESS PORT FOLDER COUNTS. /NAME is the file at once; /slow/KIB/NAME sends so many
KiB a second; /cut/KIB/BYTES/NAME breaks its first answer after so many bytes, too. What was sent of
each file stands in COUNTS as JSON.
"""
import http.server
import json
import os
import sys
import threading
import time

lock = threading.Lock()
sent = {}
was_cut = set()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        parts = self.path.split("?")[0].strip("/").split("/")
        name = parts[-1]
        rate = int(parts[1]) * 1024 if parts[0] in ("slow", "cut") else None
        try:
            with open(os.path.join(folder, name), "rb") as file:
                content = file.read()
        except OSError:
            return self.send_error(404)
        etag = f'"{len(content)}-{os.path.getmtime(os.path.join(folder, name))}"'
        start = 0
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes=") and self.headers.get("If-Range", etag) == etag:
            start = int(wanted[6:].rstrip("-"))
        end = len(content)
        if parts[0] == "cut" and name not in was_cut:
            was_cut.add(name)
            end = start + int(parts[2])
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.send_header("ETag", etag)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        piece = 65536
        for at in range(start, end, piece):
            try:
                self.wfile.write(content[at:min(at + piece, end)])
            except OSError:
                return None
            with lock:
                sent[name] = sent.get(name, 0) + min(piece, end - at)
                with open(counts + ".new", "w", encoding="ascii") as out:
                    json.dump(sent, out)
                os.replace(counts + ".new", counts)
            if rate:
                time.sleep(piece / rate)
        return None

    def log_message(self, *_):
        pass


address, port, folder, counts = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
http.server.ThreadingHTTPServer((address, port), Handler).serve_forever()
