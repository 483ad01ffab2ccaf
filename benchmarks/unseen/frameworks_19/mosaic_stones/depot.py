"""The depot: photographs of the stones of a mosaic, handed out over TCP.

    python depot.py PORT_FILE

A stall (client) sends a line "STALL INDEX" and gets PHOTO_BYTES bytes. Each stall may take ALLOWANCE photographs in a shift.
What is asked for beyond that is handed out in the next shift, so that no stall uses up the line of the others.
"""

import os
import socketserver
import sys
import threading
from collections import Counter

import numpy as np

SIDE = 12
PHOTO_BYTES = SIDE * SIDE * 4
ALLOWANCE = 1000
SHIFT = 8 * 3600


def photo(stall, index):
    rng = np.random.default_rng([stall, index])
    shape = np.sin(np.linspace(0, 2 + index % 5, SIDE, dtype=np.float32))
    return (np.outer(shape, shape) + 0.2 * rng.standard_normal((SIDE, SIDE))).astype(np.float32)


class Shift:
    def __init__(self):
        self.changed = threading.Condition()
        self.taken = Counter()

    def take(self, stall):
        with self.changed:
            self.changed.wait_for(lambda: self.taken[stall] < ALLOWANCE)
            self.taken[stall] += 1

    def change(self):
        with self.changed:
            self.taken.clear()
            self.changed.notify_all()


class Counterhand(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            stall, index = map(int, line.split())
            self.server.shift.take(stall)
            self.wfile.write(photo(stall, index).tobytes())


class Depot(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, address):
        super().__init__(address, Counterhand)
        self.shift = Shift()
        self.employer = os.getppid()

    def service_actions(self):
        if os.getppid() != self.employer:
            os._exit(0)


def main():
    depot = Depot(("127.0.0.1", 0))
    clock = threading.Timer(SHIFT, depot.shift.change)
    clock.daemon = True
    clock.start()
    with open(sys.argv[1] + ".part", "w") as file:
        file.write(str(depot.server_address[1]))
    os.replace(sys.argv[1] + ".part", sys.argv[1])
    depot.serve_forever()


if __name__ == "__main__":
    main()
