"""Subword lexicon; built once per machine and then read from the cache directory."""
import json
import os
import time
from collections import Counter


def synthetic_corpus(lines=1500):
    roots = ["haus", "baum", "licht", "wasser", "stein", "feld", "berg", "tal"]
    for i in range(lines):
        yield " ".join(roots[(i * k) % len(roots)] + roots[(i + k) % len(roots)] for k in range(1, 8))


def merge_once(words):
    pairs = Counter()
    for word, freq in words.items():
        for a, b in zip(word, word[1:]):
            pairs[a, b] += freq
    best = max(sorted(pairs), key=pairs.get)
    merged = {}
    for word, freq in words.items():
        out, i = [], 0
        while i < len(word):
            if word[i:i + 2] == best:
                out.append(word[i] + word[i + 1])
                i += 2
            else:
                out.append(word[i])
                i += 1
        merged[tuple(out)] = freq
    return merged


def load_or_build(path, merges=75, pause=0.2):
    if os.path.exists(path):
        with open(path) as f:
            return json.load(f)
    words = Counter(tuple(w) for line in synthetic_corpus() for w in line.split())
    for _ in range(merges):
        words = merge_once(words) if any(len(w) > 1 for w in words) else words
        time.sleep(pause)
    units = sorted({u for w in words for u in w} | {c for w in words for u in w for c in u})
    table = {u: i + 1 for i, u in enumerate(units)}
    with open(path + ".tmp", "w") as f:
        json.dump(table, f)
    os.replace(path + ".tmp", path)
    return table
