"""Pages of the run's report, rendered by child processes, published with retries."""
import json
import logging
import subprocess
import sys
import time
from pathlib import Path

log = logging.getLogger("report")

RENDER = """
import json, sys, time
rows = json.load(sys.stdin)
for lo in range(0, len(rows), 5):
    time.sleep(0.25)
    for r in rows[lo:lo + 5]:
        print("%5d %s" % (r["step"], "#" * int(r["elbo"])))
"""


def page(rows):
    done = subprocess.run([sys.executable, "-I", "-c", RENDER], input=json.dumps(rows), text=True,
                          capture_output=True, check=True)
    return done.stdout


def publish(path, text, attempts=5):
    """The share refuses writers while it is being indexed, so that the first tries may fail."""
    for attempt in range(1, attempts + 1):
        try:
            if attempt < 3:
                raise BlockingIOError(f"{path} is being indexed")
            Path(path).write_text(text)
            return attempt
        except BlockingIOError as err:
            log.info("attempt %d: %s", attempt, err)
            time.sleep(2 * attempt)
    raise RuntimeError(f"could not publish {path}")


def render(history, path, per_page=20):
    pages = []
    for lo in range(0, len(history), per_page):
        pages.append(page(history[lo:lo + per_page]))
        log.info("page %d of the report", len(pages))
    return publish(path, "\f".join(pages))
