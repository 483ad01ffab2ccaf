"""The press of a mill: a program that simulates how a sheet dries. It serves one customer at a time and says so."""

import logging
import subprocess
import sys
import time
from pathlib import Path

log = logging.getLogger("mills")

BUSY = 75  # EX_TEMPFAIL

SIMULATION = """
import sys, time
attempt, sheets = int(sys.argv[1]), int(sys.argv[2])
if attempt == 0:
    time.sleep(0.4)
    sys.exit(75)
wet = 1.0
for sheet in range(sheets):
    wet = 0.97 * wet + 0.01
    time.sleep(0.1)
print(wet)
"""


class PressBusy(RuntimeError):
    pass


def dry(sheets, attempt):
    result = subprocess.run(
        [sys.executable, "-c", SIMULATION, str(attempt), str(sheets)], capture_output=True, text=True, timeout=60
    )
    if result.returncode == BUSY:
        raise PressBusy("the press has another customer")
    result.check_returncode()
    return float(result.stdout)


def dry_patiently(sheets, attempts=4, pause=1.5):
    """Asks the press until it has time, with a longer pause after each refusal."""
    for attempt in range(attempts):
        try:
            return dry(sheets, attempt)
        except PressBusy as busy:
            log.warning("%s, attempt %d", busy, attempt + 1)
            time.sleep(pause * (attempt + 1))
    raise PressBusy(f"no time for us in {attempts} attempts")


def write_slowly(path: Path, tensors, pause):
    """The archive takes one tensor after the other, each with a receipt."""
    with path.open("wb") as file:
        for tensor in tensors:
            file.write(tensor.numpy().tobytes())
            file.flush()
            time.sleep(pause)
