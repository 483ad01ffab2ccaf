"""The label desk: rank 0 serves the labels that people have corrected, the ranks ask for them by HTTP."""
import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer


class Desk(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"          # keeps connections open, saves a handshake per question

    def do_GET(self):
        number = int(self.path.rsplit("/", 1)[1])
        body = json.dumps({"label": (number * 7) % 5}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def open_desk():
    server = HTTPServer(("127.0.0.1", 0), Desk)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


class Corrections:
    """Asks the desk, over one connection that stays open."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)

    def label(self, number):
        self.connection.request("GET", f"/button/{number}")
        response = self.connection.getresponse()
        return json.loads(response.read())["label"]
