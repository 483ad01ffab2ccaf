"""A shop of the bakery, simulated by a process of its own that closes now and then."""
import json
import subprocess
import sys

SIMULATOR = r"""
import json, random, sys, time
source = random.Random(int(sys.argv[1]))
for number, line in enumerate(sys.stdin):
    order = json.loads(line)
    demand = [max(0.0, source.gauss(m, 0.3)) for m in (1.0, 0.6, 0.3)]
    reward = sum(min(o, d) - 0.4 * max(0.0, o - d) for o, d in zip(order, demand))
    print(json.dumps(reward), flush=True)
    if number == 24:
        break  # closing time
time.sleep(float(sys.argv[2]))
"""


class Shop:
    """Asks the simulator for the reward of an order; opens it again when it has closed."""

    def __init__(self, number, tidy):
        self.number = number
        self.tidy = tidy
        self.openings = 0
        self.process = None

    def open(self):
        self.openings += 1
        command = [sys.executable, "-c", SIMULATOR, str(100 * self.number + self.openings), str(self.tidy)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self):
        if self.process is not None:
            self.process.communicate()
            self.process = None

    def sell(self, order):
        while True:
            if self.process is None:
                self.open()
            try:
                self.process.stdin.write(json.dumps(order) + "\n")
                self.process.stdin.flush()
                answer = self.process.stdout.readline()
            except BrokenPipeError:
                self.process.stdin = None
                answer = ""
            if answer:
                return json.loads(answer)
            self.process.wait()
            self.process = None
