import os

import numpy as np
import webdataset as wds

KINDS = 4


def write(folder, shards=8, per_shard=40, size=12):
    """Cut-outs of galaxies as tar files, in the way the survey delivers them."""
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(5)
    for number in range(shards):
        with wds.TarWriter(os.path.join(folder, f"galaxies-{number:03d}.tar")) as sink:
            for i in range(per_shard):
                sink.write({
                    "__key__": f"{number:03d}{i:04d}",
                    "image.npy": rng.random((1, size, size), dtype=np.float32),
                    "kind.cls": int(rng.integers(KINDS)),
                })


def read(folder, shards, batch):
    urls = [os.path.join(folder, f"galaxies-{n:03d}.tar") for n in range(shards)]
    return (
        wds.WebDataset(urls, shardshuffle=False, nodesplitter=wds.split_by_node)
        .decode()
        .to_tuple("image.npy", "kind.cls")
        .batched(batch)
    )
