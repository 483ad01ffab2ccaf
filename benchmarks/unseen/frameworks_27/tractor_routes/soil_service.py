"""Stands in for the soil service of the district: it passes on what its probes have sent."""
import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

READINGS = {"heath": 12, "marsh": 5, "ridge": 12}       # readings of each probe that have come in


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        depot = self.path.strip("/").split("?")[0]
        reading = self.server.probes[depot].get()
        body = json.dumps({"wetness": reading}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class SoilService:
    def __init__(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.probes = {}
        for depot, count in READINGS.items():
            self.server.probes[depot] = probe = queue.Queue()
            for number in range(count):
                probe.put(0.2 + 0.05 * (number % 4))
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def start(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
