"""The ladder: a small HTTP service with the ratings of all players, started by the first process.

GET /rating/NAME gives a rating, POST /result with {"name", "score", "against"} changes one.
The program ends when its standard input is closed.
"""
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

START, K = 1200.0, 24.0


class Ladder(BaseHTTPRequestHandler):
    # HTTP/1.1 keeps connections open, so that clients need not connect anew for each game.
    protocol_version = "HTTP/1.1"
    ratings = {}

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        name = self.path.rsplit("/", 1)[-1]
        self.answer(self.ratings.get(name, START))

    def do_POST(self):
        result = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        rating = self.ratings.get(result["name"], START)
        expected = 1 / (1 + 10 ** ((result["against"] - rating) / 400))
        self.ratings[result["name"]] = rating + K * (result["score"] - expected)
        self.answer(self.ratings[result["name"]])

    def log_message(self, *args):
        pass


def until_closed():
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", 0), Ladder)
    threading.Thread(target=until_closed, daemon=True).start()
    print(server.server_address[1], flush=True)
    server.serve_forever()
