import json
import os
import time


def build_vocabulary(path, words=160):
    """Counts the corpus; the archive gives it out piece by piece."""
    if os.path.exists(path):
        with open(path) as f:
            return json.load(f)
    counts = {}
    for i in range(words):
        counts[f"w{i}"] = (i * 7919) % 101
        time.sleep(0.1)
    with open(path + ".part", "w") as f:
        json.dump(counts, f)
    os.replace(path + ".part", path)
    return counts


def archive(blob, path, piece=256, pause=0.05):
    """The archive accepts small pieces only."""
    with open(path, "wb") as f:
        for start in range(0, len(blob), piece):
            f.write(blob[start:start + piece])
            f.flush()
            time.sleep(pause)
