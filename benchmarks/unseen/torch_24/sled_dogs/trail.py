"""A trail for sled dogs: how fast to go with the strength that is left. The simulator is another program."""
import json
import subprocess
import sys

PROGRAM = r"""
import json, random, sys, time
seed, start, fails = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
time.sleep(start)
if fails:
    sys.exit(1)
dice = random.Random(seed)
print(json.dumps("ready"), flush=True)
strength, way = 1.0, 0.0
for line in sys.stdin:
    pace = json.loads(line)
    if pace is None:
        strength, way = 1.0, 0.0
    else:
        strength -= 0.02 + 0.05 * pace * pace + 0.02 * dice.random()
        way += pace * (0.5 + 0.5 * max(strength, 0.0))
    print(json.dumps([strength, way, strength <= 0.0]), flush=True)
"""


class Trail:
    """Starts the simulator, again if it does not come up, and after `wear` days, when it has become slow."""

    def __init__(self, seed, start, wear, bad_starts=()):
        self.seed, self.start, self.wear = seed, start, wear
        self.bad_starts = bad_starts
        self.starts, self.days = 0, 0
        self.process = None

    def _launch(self):
        while True:
            fails = int(self.starts in self.bad_starts)
            command = [sys.executable, "-c", PROGRAM, str(self.seed + self.starts), str(self.start), str(fails)]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.starts += 1
            if self.process.stdout.readline():
                return
            self.close()

    def ask(self, pace):
        self.process.stdin.write(json.dumps(pace) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def new_day(self):
        if self.process is None or self.days % self.wear == 0:
            if self.process is not None:
                self.close()
            self._launch()
        self.days += 1
        return self.ask(None)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
