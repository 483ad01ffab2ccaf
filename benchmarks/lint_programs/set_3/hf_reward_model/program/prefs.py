import json
import random


def load_pairs(path, seed, dev_fraction=0.05):
    """Same split on every rank: own generator, no global state."""
    with open(path, encoding="utf-8") as f:
        rows = [json.loads(line) for line in f if line.strip()]
    rows = [r for r in rows if r["chosen"] != r["rejected"]]
    random.Random(seed).shuffle(rows)
    n = max(1, int(len(rows) * dev_fraction))
    return rows[n:], rows[:n]
