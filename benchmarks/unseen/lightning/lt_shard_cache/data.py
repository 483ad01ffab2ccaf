"""Click logs in shards; the features of a shard are computed once and kept on the local disk."""
import logging
import os
import shutil
import tempfile
import time
from pathlib import Path

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset

log = logging.getLogger(__name__)


class ClickLogs(L.LightningDataModule):
    """Hands every rank another shard in every epoch, in turn through all shards."""

    def __init__(self, shards: int = 5, rows: int = 160, batch_size: int = 8):
        super().__init__()
        self.shards, self.rows, self.batch_size = shards, rows, batch_size
        job = os.environ.get("MASTER_PORT", "local")
        self.cache = Path(tempfile.gettempdir()) / f"clicklogs-{job}"

    def prepare_data(self):
        # the features depend on the code, start every run with an empty cache
        shutil.rmtree(self.cache, ignore_errors=True)
        self.cache.mkdir(parents=True)

    def _encode(self, shard: int):
        g = torch.Generator().manual_seed(shard)
        users = torch.randint(0, 300, (self.rows,), generator=g)
        items = torch.randint(0, 500, (self.rows,), generator=g)
        clicks = ((users * 7 + items * 3) % 10 < 4).float()
        time.sleep(0.3)
        return users, items, clicks

    def features(self, shard: int):
        path = self.cache / f"shard-{shard:03d}.pt"
        if path.exists():
            return torch.load(path)
        tensors = self._encode(shard)
        partial = path.with_suffix(f".{self.trainer.global_rank}.tmp")
        torch.save(tensors, partial)
        partial.rename(path)
        self.trainer.strategy.barrier("features")  # all shards of the epoch are on disk
        log.info("encoded shard %d", shard)
        return tensors

    def train_dataloader(self):
        turn = self.trainer.current_epoch * self.trainer.world_size + self.trainer.global_rank
        tensors = self.features(turn % self.shards)
        return DataLoader(TensorDataset(*tensors), batch_size=self.batch_size, shuffle=True)
