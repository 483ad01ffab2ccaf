"""What `watch` adds to a launch: `python -m benchmarks.launch_delay [PAIRS]`.

A command that does nothing is run alternately alone and under `ddpdoctor watch`. It prints the seconds until the
command runs and the seconds from its start to the end of everything, each as the median of the paired differences.
Limit: 0.3 s for both together.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

LIMIT = 0.3
#: tells the moment at which it runs
COMMAND = ["date", "+%s.%N"]


def main() -> int:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    watch = [sys.executable, "-m", "ddpdoctor", "watch", "--quiet", "--"]
    starts: list[float] = []
    wholes: list[float] = []
    for number in range(pairs):
        took = {}
        for name in ("watched", "alone") if number % 2 else ("alone", "watched"):
            took[name] = once([*watch, *COMMAND] if name == "watched" else COMMAND)
        starts.append(took["watched"][0] - took["alone"][0])
        wholes.append(took["watched"][1] - took["alone"][1])
    whole = statistics.median(wholes)
    print(f"watch adds {statistics.median(starts):.3f} s before the command and {whole:.3f} s to the whole")
    return 0 if whole < LIMIT else 1


def once(command: list[str]) -> tuple[float, float]:
    """Seconds until the command ran, and until everything had ended."""
    began = time.time()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout) - began, time.time() - began


if __name__ == "__main__":
    sys.exit(main())
