"""Crossings of a ferry, computed by a simulator in a child process that talks over its pipes."""
import json
import subprocess
import sys
import time

SIMULATOR = """
import json, random, sys, time
rng = random.Random(int(sys.argv[1]))
time.sleep(float(sys.argv[2]))
if sys.argv[3] == "fail":
    sys.exit(3)
print("ready", flush=True)
for line in sys.stdin:
    courses = json.loads(line)
    drift = [rng.gauss(0.0, 0.3) for _ in courses]
    print(json.dumps([-(c - 0.7 + d) ** 2 for c, d in zip(courses, drift)]), flush=True)
"""


class Simulator:
    """Starts the child, again if it does not come up; it ends with its input."""

    def __init__(self, seed, warmup, failures):
        for attempt in range(4):
            mode = "fail" if attempt < failures else "run"
            self.child = subprocess.Popen(
                [sys.executable, "-c", SIMULATOR, str(seed), str(warmup), mode],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            if self.child.stdout.readline():
                return
            self.child.wait()
            time.sleep(0.5 * 2 ** attempt)
        raise RuntimeError("the simulator does not start")

    def cross(self, courses):
        self.child.stdin.write(json.dumps(courses) + "\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())

    def close(self):
        self.child.stdin.close()
        return self.child.wait()
