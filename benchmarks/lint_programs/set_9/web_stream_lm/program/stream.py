import json
import random
from pathlib import Path

import torch
from accelerate import PartialState
from torch.utils.data import IterableDataset, get_worker_info


class TextStream(IterableDataset):
    """Streams fixed-length byte windows out of jsonl shards, in a new order each epoch."""

    def __init__(self, folder, seq=64, seed=0):
        self.files = sorted(Path(folder).glob("part-*.jsonl"))
        if not self.files:
            raise FileNotFoundError(f"no shards under {folder}")
        self.seq, self.seed, self.epoch = seq, seed, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def _my_files(self):
        files = list(self.files)
        random.Random(f"{self.seed}-{self.epoch}").shuffle(files)
        state, info = PartialState(), get_worker_info()
        workers, worker = (info.num_workers, info.id) if info else (1, 0)
        part = state.process_index * workers + worker
        return files[part :: state.num_processes * workers]

    def __iter__(self):
        for path in self._my_files():
            buffer = bytearray()
            with open(path) as f:
                for line in f:
                    buffer += json.loads(line)["text"].encode() + b"\n"
                    while len(buffer) > self.seq:
                        window = torch.tensor(list(buffer[: self.seq + 1]), dtype=torch.long)
                        yield {"ids": window[:-1], "labels": window[1:]}
                        del buffer[: self.seq]
