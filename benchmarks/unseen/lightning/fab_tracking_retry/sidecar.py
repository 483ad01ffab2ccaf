"""Tiny metrics service that the job brings along; it imports its history before it listens."""
import argparse
import json
import time
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    received = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append(json.loads(body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--import-seconds", type=float, default=18.0)
    args = parser.parse_args()
    deadline = time.monotonic() + args.import_seconds
    while time.monotonic() < deadline:
        time.sleep(0.25)
    HTTPServer(("127.0.0.1", args.port), Handler).serve_forever()
