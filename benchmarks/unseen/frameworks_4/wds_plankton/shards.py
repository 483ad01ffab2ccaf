import os
import tempfile

import numpy as np
import torch.distributed as dist
import webdataset as wds


def write_shards(folder, cruises, per_cruise):
    rng = np.random.default_rng(12)
    for c in range(cruises):
        with wds.TarWriter(os.path.join(folder, f"cruise-{c:03d}.tar")) as sink:
            for k in range(per_cruise):
                image = rng.normal(size=(1, 12, 12)).astype("float32")
                sink.write({"__key__": f"{c:03d}{k:04d}", "image.npy": image, "taxon.cls": int(rng.integers(0, 4))})


def shared_shards(cruises=8, per_cruise=24):
    box = [None]
    if dist.get_rank() == 0:
        box[0] = tempfile.mkdtemp(prefix="plankton_")
        write_shards(box[0], cruises, per_cruise)
    dist.broadcast_object_list(box, src=0)
    return [os.path.join(box[0], f) for f in sorted(os.listdir(box[0]))]


def plankton_loader(urls, batch_size):
    ds = wds.WebDataset(urls, shardshuffle=False, nodesplitter=wds.split_by_node).decode().to_tuple("image.npy", "taxon.cls")
    return wds.WebLoader(ds, batch_size=batch_size, num_workers=0)
