"""The lab book: a small service that keeps the curves of a run, one connection at a time.

A client sends `PUT n`, then n lines `step name value`, and gets `OK` once all of them are in the book.
"""

import argparse
import collections
import socketserver


class Page(socketserver.StreamRequestHandler):
    def line(self):
        return self.rfile.readline().decode().strip()

    def handle(self):
        while True:
            command = self.line()
            if not command:
                return
            verb, count = command.split()
            if verb != "PUT":
                self.wfile.write(b"ERR unknown command\n")
                continue
            entries = [self.line() for _ in range(int(count))]
            for entry in filter(None, entries):
                step, name, value = entry.split()
                self.server.book[name].append((int(step), float(value)))
            self.wfile.write(b"OK\n")


class LabBook(socketserver.TCPServer):
    allow_reuse_address = True

    def __init__(self, address):
        super().__init__(address, Page)
        self.book = collections.defaultdict(list)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    args = parser.parse_args()
    with LabBook((args.host, 0)) as server:
        print(server.server_address[1], flush=True)
        server.handle_request()
    for name, curve in sorted(server.book.items()):
        print(name, len(curve), f"{curve[-1][1]:.4f}", flush=True)


if __name__ == "__main__":
    main()
