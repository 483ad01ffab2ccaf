"""What `watch` adds to a launch: `python -m benchmarks.launch_delay [PAIRS]`.

A command that does nothing is run alternately alone and under `ddpdoctor watch`: the seconds until the command runs,
and those from its start to the end of everything, each as the median of the paired differences. The package has its
byte code, as pip installs it. Limit: 0.3 s for both together.
"""

from __future__ import annotations

import compileall
import subprocess
import sys
import time

from benchmarks import figures, measured
from benchmarks.figures import Figure, Unit

LIMIT = 0.3
#: tells the moment at which it runs
COMMAND = ["date", "+%s.%N"]


def main() -> int:
    return figures.tell(measure(figures.count(15)))


def measure(pairs: int) -> list[Figure]:
    compileall.compile_dir(measured.ROOT / "ddpdoctor", quiet=1)
    watch = [sys.executable, "-m", "ddpdoctor", "watch", "--quiet", "--"]
    starts: list[float] = []
    wholes: list[float] = []
    for number in range(pairs):
        took = {}
        for name in ("watched", "alone") if number % 2 else ("alone", "watched"):
            took[name] = once([*watch, *COMMAND] if name == "watched" else COMMAND)
        starts.append(took["watched"][0] - took["alone"][0])
        wholes.append(took["watched"][1] - took["alone"][1])
    return [
        figures.paired("added before the command begins", [starts], Unit.SECONDS),
        figures.paired("added to the whole", [wholes], Unit.SECONDS, LIMIT),
    ]


def once(command: list[str]) -> tuple[float, float]:
    """Seconds until the command ran, and until everything had ended."""
    began = time.time()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout) - began, time.time() - began


if __name__ == "__main__":
    sys.exit(main())
