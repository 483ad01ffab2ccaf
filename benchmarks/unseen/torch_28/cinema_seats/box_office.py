"""Reports a number to the box office. It answers 503 while it counts the till, then we try again."""
import http.server
import threading
import time
import urllib.error
import urllib.request


class _Till(http.server.BaseHTTPRequestHandler):
    busy = 3

    def do_GET(self):
        code = 200
        if _Till.busy > 0:
            _Till.busy -= 1
            code = 503
        self.send_response(code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


def open_till():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Till)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def report(server, error, pause=1.5):
    url = f"http://127.0.0.1:{server.server_address[1]}/?error={error:.4f}"
    for attempt in range(8):
        try:
            with urllib.request.urlopen(url, timeout=5):
                return attempt
        except urllib.error.HTTPError:
            time.sleep(pause)
    return None
