"""The team's scoreboard: a small HTTP service that the driver runs, and its client.

The service keeps the last points of each run. Every `FLUSH` points it hands them to the dashboard, which picks them up.
"""
import http.client
import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FLUSH = 12


class Board(BaseHTTPRequestHandler):
    points = []
    dashboard = queue.Queue(maxsize=1)
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.points.append(body)
        if len(self.points) % FLUSH == 0:
            self.dashboard.put(self.points[-FLUSH:])
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


def serve():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Board)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


class BoardClient:
    def __init__(self, port, run):
        self.port, self.run = port, run

    def post(self, **values):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("POST", "/points", json.dumps({"run": self.run, **values}))
        status = connection.getresponse().status
        connection.close()
        return status
