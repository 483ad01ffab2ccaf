"""Client of the group's tracking server, and a server of that kind for trying things out."""
import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Tracker:
    def __init__(self, address: str, run: str):
        self.address = address
        self.run = run

    def record(self, step: int, **values: float) -> None:
        connection = http.client.HTTPConnection(self.address)
        body = json.dumps({"run": self.run, "step": step, **values})
        connection.request("POST", "/api/metrics", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        connection.close()


class MetricsServer(ThreadingHTTPServer):
    """Keeps the metrics in memory until its store is full; a full store is emptied by hand."""

    daemon_threads = True

    def __init__(self, capacity: int):
        super().__init__(("127.0.0.1", 0), MetricsHandler)
        self.places = threading.Semaphore(capacity)
        self.rows = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, daemon=True).start()


class MetricsHandler(BaseHTTPRequestHandler):
    def do_POST(self):
        row = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.places.acquire()
        self.server.rows.append(row)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass
