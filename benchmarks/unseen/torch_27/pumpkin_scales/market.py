"""The market's price service: over-worked, answers at the third attempt."""
import http.server
import threading
import time
import urllib.error
import urllib.request


class Busy(http.server.BaseHTTPRequestHandler):
    asked = 0

    def do_GET(self):
        Busy.asked += 1
        time.sleep(1.0)
        self.send_response(503 if Busy.asked % 3 else 200)
        self.end_headers()
        self.wfile.write(b"1.85")

    def log_message(self, *args):
        pass


def open_market():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def price(server, attempts=6):
    address = f"http://127.0.0.1:{server.server_address[1]}/"
    for attempt in range(attempts):
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                return float(answer.read())
        except urllib.error.HTTPError as problem:
            print(f"attempt {attempt}: {problem}", flush=True)
            time.sleep(0.5 * 2 ** attempt)
    return 0.0
