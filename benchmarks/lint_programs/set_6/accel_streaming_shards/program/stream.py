import json
import os
import random
from pathlib import Path

import torch
from torch.utils.data import IterableDataset, get_worker_info


def write_shards(root, shards=8, rows=64, dim=16, seed=0):
    """Synthetic stand-in for the exported click logs."""
    root = Path(root)
    root.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    for s in range(shards):
        with open(root / f"part-{s:05d}.jsonl", "w") as f:
            for _ in range(rows):
                x = [rng.gauss(0, 1) for _ in range(dim)]
                y = int(sum(x[:4]) + 0.5 * x[4] * x[5] + rng.gauss(0, 0.3) > 0)
                f.write(json.dumps({"x": x, "y": y}) + "\n")


def list_shards(root):
    return sorted(Path(root).glob("part-*.jsonl"))


def read_rows(files):
    for path in files:
        with open(path) as f:
            for line in f:
                row = json.loads(line)
                yield {"x": torch.tensor(row["x"]), "y": torch.tensor(float(row["y"]))}


class ShardStream(IterableDataset):
    """Rows of the jsonl parts in `root`, file order and a small buffer shuffled."""

    def __init__(self, root, shuffle_buffer=0, seed=0):
        self.files = list_shards(root)
        self.buffer, self.seed, self.epoch = shuffle_buffer, seed, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def _my_files(self, files):
        rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        return files[rank * workers + worker :: world * workers]

    def __iter__(self):
        rng = random.Random(self.seed + self.epoch)
        files = list(self.files)
        if not self.buffer:
            yield from read_rows(self._my_files(files))
            return
        rng.shuffle(files)
        held = []
        for row in read_rows(self._my_files(files)):
            if len(held) < self.buffer:
                held.append(row)
                continue
            j = rng.randrange(self.buffer)
            held[j], row = row, held[j]
            yield row
        rng.shuffle(held)
        yield from held
