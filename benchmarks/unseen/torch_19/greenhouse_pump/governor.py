"""Keeps the small computer in a greenhouse from overheating.

The governor is a process beside the training. It is told about every round of work, follows the temperature of
the case, and suspends the training while the case is too hot. The air for cooling is taken from a record of the
house's thermometer.
"""
import os
import signal
import subprocess
import sys
import time


class Governor:
    """The training's side of it."""

    def __init__(self, house):
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), house],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def worked(self, load):
        """Tells of a round of work, and returns the temperature when the next one may begin."""
        self.process.stdin.write(f"{load:.3f}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def thermometer(house):
    """Air in the house, hour by hour over one day."""
    base = {"palms": 22.0, "cacti": 34.0, "orchids": 24.0}[house]
    for hour in range(24):
        yield base + 4.0 * min(hour, 24 - hour) / 12.0


class Case:
    hot = 70.0
    cool = 45.0

    def __init__(self, house):
        self.house = house
        self.temperature = 30.0

    def work(self, load):
        self.temperature += load

    def air(self, degrees):
        self.temperature += 0.2 * (degrees + 10.0 - self.temperature)

    def cool_down(self, training):
        os.kill(training, signal.SIGSTOP)
        for degrees in thermometer(self.house):
            time.sleep(0.05)
            self.air(degrees)
            if self.temperature < self.cool:
                os.kill(training, signal.SIGCONT)
                break


def main():
    case = Case(sys.argv[1])
    training = os.getppid()
    for line in sys.stdin:
        case.work(float(line))
        if case.temperature > case.hot:
            case.cool_down(training)
        print(f"{case.temperature:.2f}", flush=True)


if __name__ == "__main__":
    main()
