"""Writes the caption shards; in production they come from three crawls."""
import random

import numpy as np
import webdataset as wds

NOUNS = "dog boat tree street child bicycle mountain kitchen".split()
ADJECTIVES = "red old quiet small wet bright".split()
SHARDS, PER_SHARD = 6, 80


def caption(rng, terse):
    if terse:
        return rng.choice(ADJECTIVES) + " " + rng.choice(NOUNS)
    return f"a {rng.choice(ADJECTIVES)} {rng.choice(NOUNS)} near a {rng.choice(NOUNS)}"


def write(folder):
    rng = random.Random(31)
    noise = np.random.default_rng(31)
    for shard in range(SHARDS):
        with wds.TarWriter(f"{folder}/captions-{shard:06d}.tar") as sink:
            for row in range(PER_SHARD):
                # the fifth shard has alt texts instead of captions in its second half
                terse = shard == 4 and row >= PER_SHARD // 2
                sink.write(
                    {
                        "__key__": f"{shard:03d}{row:05d}",
                        "npy": noise.standard_normal((3, 8, 8)).astype("float32"),
                        "txt": caption(rng, terse),
                    }
                )
