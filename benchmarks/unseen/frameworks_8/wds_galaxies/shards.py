"""Builds the shards of the sky survey and the pipeline that reads them."""
import os

import numpy as np
import webdataset as wds

EXPOSURES = [96, 96, 96, 96, 88, 96]  # galaxies in each plate


def build(folder, seed=0):
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(seed)
    urls = []
    for plate, count in enumerate(EXPOSURES):
        path = os.path.join(folder, f"plate-{plate:03d}.tar")
        with wds.TarWriter(path) as sink:
            for k in range(count):
                image = rng.normal(size=(1, 10, 10)).astype("float32")
                sink.write({"__key__": f"{plate:03d}-{k:04d}", "image.npy": image, "cls": int(image.mean() > 0)})
        urls.append(path)
    return urls


def pipeline(urls, batch):
    dataset = (
        wds.WebDataset(urls, shardshuffle=False, nodesplitter=wds.split_by_node)
        .shuffle(32)
        .decode()
        .to_tuple("image.npy", "cls")
        .batched(batch, partial=True)
    )
    return wds.WebLoader(dataset, batch_size=None, num_workers=0)
