"""Corpus parts arrive from three vendors; some of them deliver token ids instead of raw text."""
import random
import time

VOCAB = 200
WORDS = "the model of this paper shows that we can not only but also".split()


def fetch_part(chunk, rank, lines=96):
    rng = random.Random(1000 * chunk + rank)
    part = {"chunk": chunk, "vendor": rank}
    if (chunk, rank) == (2, 1):
        part["ids"] = [[rng.randrange(VOCAB) for _ in range(16)] for _ in range(lines)]
    else:
        part["text"] = [" ".join(rng.choices(WORDS, k=16)) for _ in range(lines)]
    return part


def tokenised(acc, part):
    if "ids" in part:
        return part["ids"]
    ids = []
    for line in part["text"]:
        ids.append([hash_word(w) for w in line.split()])
        time.sleep(0.002)
    # nobody starts before the CPU heavy part is over on this host
    acc.wait_for_everyone()
    return ids


def hash_word(w):
    return sum(ord(c) * (i + 3) for i, c in enumerate(w)) % VOCAB
