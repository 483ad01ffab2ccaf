"""Normalization statistics of the corpus, computed once per machine before the processes meet."""

import json
import os
import time
from pathlib import Path


def _measure(hours):
    """One pass over the corpus; about a second for twenty hours of speech."""
    total = square = count = 0
    for hour in range(hours):
        for frame in range(4000):
            value = ((hour * 31 + frame * 17) % 101) / 101
            total, square, count = total + value, square + value * value, count + 1
        time.sleep(0.04)
    mean = total / count
    return {"mean": mean, "std": (square / count - mean * mean) ** 0.5}


def statistics(folder, hours):
    path = Path(folder) / "statistics.json"
    if os.environ["LOCAL_RANK"] == "0":
        partial = path.with_suffix(".tmp")
        partial.write_text(json.dumps(_measure(hours)))
        partial.replace(path)
    while not path.exists():
        time.sleep(0.5)
    return json.loads(path.read_text())
