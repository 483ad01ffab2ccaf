import os
from pathlib import Path

import torch
import torch.distributed as dist


class CheckpointManager:
    def __init__(self, directory, keep=3):
        self.dir, self.keep = Path(directory), keep

    def save(self, model, optimizer, epoch):
        if dist.get_rank() == 0:
            self.dir.mkdir(parents=True, exist_ok=True)
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
            tmp = self.dir / "tmp.pt"
            torch.save(state, tmp)
            os.replace(tmp, self.dir / f"epoch_{epoch:04d}.pt")
            for old in self._all()[: -self.keep]:
                old.unlink()
        dist.barrier()

    def _all(self):
        return sorted(self.dir.glob("epoch_*.pt"))

    def latest(self):
        found = self._all()
        if not found:
            return None
        return torch.load(found[-1], map_location="cpu")
