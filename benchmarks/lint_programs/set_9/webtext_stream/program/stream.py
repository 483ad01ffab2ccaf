import random

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from comm import get_rank, get_world_size


class TextStream(IterableDataset):
    """Endless stream of byte windows.

    The shards are reshuffled every pass with a seed common to all readers and then dealt out, so
    that a document is read by one reader only.
    """

    def __init__(self, paths, seq_len, seed):
        self.paths = sorted(paths)
        self.seq_len = seq_len
        self.seed = seed

    def _my_shards(self, epoch):
        info = get_worker_info()
        workers, worker = (info.num_workers, info.id) if info else (1, 0)
        reader = get_rank() * workers + worker
        readers = get_world_size() * workers
        order = list(self.paths)
        random.Random(self.seed + epoch).shuffle(order)
        if len(order) < readers:
            raise ValueError(f"{len(order)} shards for {readers} readers")
        return order[reader::readers]

    def __iter__(self):
        epoch, buffer = 0, bytearray()
        while True:
            for path in self._my_shards(epoch):
                with open(path, "rb") as f:
                    for line in f:
                        buffer += line
                        while len(buffer) > self.seq_len:
                            window = bytes(buffer[: self.seq_len + 1])
                            del buffer[: self.seq_len]
                            yield torch.frombuffer(bytearray(window), dtype=torch.uint8).long()
            epoch += 1


def build_loader(paths, seq_len, batch_size, num_workers, seed):
    # spawn: the parent holds CUDA and tokenizer threads, which do not survive a fork
    return DataLoader(
        TextStream(paths, seq_len, seed),
        batch_size=batch_size,
        num_workers=num_workers,
        multiprocessing_context="spawn" if num_workers > 0 else None,
        persistent_workers=num_workers > 0,
        pin_memory=torch.cuda.is_available(),
    )
