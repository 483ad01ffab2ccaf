"""The flow solver has one licence on each machine: who wants to use it holds a lock on a file while it runs."""
import contextlib
import fcntl
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import time

log = logging.getLogger("furnace")

SOLVER = """
import json, math, sys, time
heats = json.load(sys.stdin)
time.sleep(2.5)  # the mesh
print(json.dumps([sum(math.sin(h * (k + 1)) / (k + 1) for k, h in enumerate(row)) for row in heats]))
"""


def licence_file():
    folder = pathlib.Path(tempfile.gettempdir())
    return folder / f"glass_solver_{os.getuid()}_{os.environ.get('MASTER_PORT', '0')}.licence"


@contextlib.contextmanager
def licence():
    begin = time.monotonic()
    with open(licence_file(), "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        log.info("licence after %.1f s", time.monotonic() - begin)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def solve(heats):
    """Draught of each setting of the burners, by the solver."""
    with licence():
        answer = subprocess.run(
            [sys.executable, "-c", SOLVER],
            input=json.dumps(heats.tolist()),
            capture_output=True,
            text=True,
            check=True,
        )
    return json.loads(answer.stdout)


def tidy():
    licence_file().unlink(missing_ok=True)
