"""The relay: takes messages over HTTP and confirms each when it has gone out over the satellite link."""
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PASSES = 3  # messages that go out before the satellite sets


class Link:
    def __init__(self):
        self.sent = 0
        self.visible = threading.Event()

    def send(self, message: bytes):
        if self.sent >= PASSES:
            self.visible.wait()
        self.sent += 1


link = Link()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        link.send(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"sent": true}')

    def log_message(self, *args):
        pass


def main():
    parent = os.getppid()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = Path(sys.argv[1])
    draft = address.with_suffix(".draft")
    draft.write_text(f"http://127.0.0.1:{server.server_port}")
    draft.rename(address)
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


if __name__ == "__main__":
    main()
