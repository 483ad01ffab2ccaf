import os

import numpy as np
import torch


class TokenBatches:
    """Random crops out of train.bin / val.bin; one generator per process."""

    def __init__(self, cfg, device, seed):
        self.cfg = cfg
        self.device = device
        self.rng = torch.Generator().manual_seed(seed)

    def get(self, split):
        path = os.path.join(self.cfg.data_dir, f"{split}.bin")
        tokens = np.memmap(path, dtype=np.uint16, mode="r")
        t = self.cfg.block_size
        starts = torch.randint(len(tokens) - t - 1, (self.cfg.batch_size,), generator=self.rng)
        rows = np.stack([tokens[i:i + t + 1].astype(np.int64) for i in starts.tolist()])
        rows = torch.from_numpy(rows).to(self.device, non_blocking=True)
        return rows[:, :-1], rows[:, 1:]
