import os

import torch
import webdataset as wds

# signs per recording drive; one shard per drive
DRIVES = [72, 110, 120, 84, 118, 114]


def shard_name(folder, k):
    return os.path.join(folder, f"drive-{k:03d}.tar")


def write_shards(folder, count):
    os.makedirs(folder, exist_ok=True)
    for k in range(count):
        g = torch.Generator().manual_seed(k)
        with wds.TarWriter(shard_name(folder, k)) as sink:
            for i in range(DRIVES[k]):
                image = torch.randn(3, 4, 4, generator=g)
                sink.write({"__key__": f"{k:03d}-{i:05d}", "image.pth": image, "sign.cls": i % 8})


def sign_loader(folder, count, batch_size):
    urls = [shard_name(folder, k) for k in range(count)]
    data = (
        wds.WebDataset(urls, nodesplitter=wds.split_by_node, shardshuffle=False)
        .shuffle(24)
        .decode()
        .to_tuple("image.pth", "sign.cls")
        .batched(batch_size, partial=False)
    )
    return wds.WebLoader(data, batch_size=None, num_workers=0)
