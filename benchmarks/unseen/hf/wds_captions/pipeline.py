import zlib

import torch
import webdataset as wds

from shards import SHARDS

WORDS, LENGTH = 64, 8


def is_caption(sample, fewest=3):
    return len(sample["txt"].split()) >= fewest


def encode(text):
    ids = [1 + zlib.crc32(word.encode()) % (WORDS - 1) for word in text.split()[:LENGTH]]
    return torch.tensor(ids + [0] * (LENGTH - len(ids)))


def caption_loader(folder, batch_size, workers=1):
    urls = f"{folder}/captions-{{000000..{SHARDS - 1:06d}}}.tar"
    dataset = (
        wds.WebDataset(urls, shardshuffle=False, nodesplitter=wds.split_by_node, empty_check=False)
        .decode()
        .select(is_caption)
        .to_tuple("npy", "txt")
        .map_tuple(torch.from_numpy, encode)
        .batched(batch_size, partial=False)
    )
    return wds.WebLoader(dataset, batch_size=None, num_workers=workers)
