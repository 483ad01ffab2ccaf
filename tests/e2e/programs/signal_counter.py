"""Counts the signals that reach it, and ends a moment after the first with status 7."""

import signal
import sys
import time

counts: dict[str, int] = {}


def count(number: int, _frame: object) -> None:
    name = signal.Signals(number).name
    counts[name] = counts.get(name, 0) + 1


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, count)
print("ready", flush=True)
deadline = time.monotonic() + 120
while not counts and time.monotonic() < deadline:
    time.sleep(0.05)
time.sleep(0.7)
print(sorted(counts.items()), flush=True)
sys.exit(7)
