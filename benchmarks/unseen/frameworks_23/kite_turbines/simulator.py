"""The flight of a kite turbine, computed by a program of its own that answers one line per question."""

import json
import subprocess
import sys

PROGRAM = r"""
import json, math, sys

for line in sys.stdin:
    flight = json.loads(line)
    power, angle = 0.0, flight["angle"]
    for second, wind in enumerate(flight["wind"]):
        if wind > 17.0:
            sys.stderr.write(
                "flight %06d, second %03d: wind of %.2f m/s is above the limit of the bridle, load is reduced\n"
                % (flight["number"], second, wind)
            )
            wind = 17.0
        power += 0.01 * wind**3 * math.cos(angle) ** 2
        angle += 0.02 * (wind - 10) / 10
    print(json.dumps({"number": flight["number"], "power": power / len(flight["wind"])}), flush=True)
"""


class Simulator:
    """Keeps the program running, asks it for flights, and shows its last complaint if it ends."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.flights = 0

    def fly(self, wind, angle):
        question = {"number": self.flights, "wind": [round(w, 3) for w in wind], "angle": angle}
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"simulator: {self.process.stderr.read().strip()[-500:]}")
        self.flights += 1
        return json.loads(answer)["power"]

    def close(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait()
