"""A tutor that gives hints for puzzles: a small HTTP service of rank 0, and its client."""
import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer


class Tutor(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # pupils ask often, their connections stay open

    def do_POST(self):
        puzzle = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps({"hint": solve(puzzle)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


def solve(puzzle):
    """The best pair of neighbours to swap: the one with the largest disorder."""
    gaps = [a - b for a, b in zip(puzzle, puzzle[1:])]
    return max(range(len(gaps)), key=gaps.__getitem__)


class TutorService:
    def __init__(self):
        self.server = HTTPServer(("127.0.0.1", 0), Tutor)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def start(self):
        self.thread.start()
        return self.port


class Pupil:
    """Asks the tutor. The connection is opened with the first question."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.questions = 0

    def hint(self, puzzle):
        body = json.dumps([int(piece) for piece in puzzle])
        self.connection.request("POST", "/hint", body=body, headers={"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        self.questions += 1
        return json.loads(answer.read())["hint"]
