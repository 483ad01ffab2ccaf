"""A service that judges phrases: one line with a length, then the phrase's words as JSON; the answer is one line.

Run by itself it prints its port and serves until its standard input is closed.
"""
import io
import json
import os
import socket
import socketserver
import sys
import threading


class Judge(socketserver.StreamRequestHandler):
    def handle(self):
        requests = io.TextIOWrapper(self.rfile, encoding="utf-8", newline="\n")
        while True:
            header = requests.readline()
            if not header:
                return
            words = json.loads(requests.read(int(header)))
            self.wfile.write(f"{self.grade(words):.4f}\n".encode())

    def grade(self, words):
        repeated = len(words) - len(set(words))
        rhythm = sum(abs(len(a) - len(b)) for a, b in zip(words, words[1:])) / len(words)
        return rhythm - 0.8 * repeated


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.answers = self.socket.makefile("r", encoding="utf-8")

    def grade(self, words):
        payload = json.dumps(words, ensure_ascii=False).encode("utf-8")
        self.socket.sendall(b"%d\n" % len(payload) + payload)
        return float(self.answers.readline())

    def close(self):
        self.answers.close()
        self.socket.close()


def leave_with_parent():
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    with Server(("127.0.0.1", 0), Judge) as server:
        print(server.server_address[1], flush=True)
        threading.Thread(target=leave_with_parent, daemon=True).start()
        server.serve_forever()
