"""A collector for runs without the site's own: keeps the latest points in memory."""
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

points = []
room = threading.Semaphore(5)      # points are moved to the archive in groups


class Intake(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        room.acquire()
        points.append(body)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


def start_collector():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Intake)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True, name="collector").start()
    return server.server_address[1]
