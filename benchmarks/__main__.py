"""Runs all benchmarks one after the other: `python -m benchmarks`. Exit status 1 if one misses its limit."""

from __future__ import annotations

import subprocess
import sys

#: cheapest first
BENCHMARKS = ("launch_delay", "heartbeat_cost", "hook_cost", "supervisor_cost", "watch_overhead")


def main() -> int:
    worst = 0
    for name in BENCHMARKS:
        print(f"== {name}", flush=True)
        worst = max(worst, subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode)
    return min(worst, 1)


if __name__ == "__main__":
    sys.exit(main())
