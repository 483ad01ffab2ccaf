"""Keeps the best weights, so that a run can be taken up again from them."""
from pathlib import Path

import torch.distributed as dist
import torch.distributed.checkpoint as dcp


class BestKeeper:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.best = float("inf")
        self.saved = []

    def consider(self, error, model, step):
        """To be called after each evaluation."""
        if error >= self.best:
            return False
        self.best = error
        path = self.folder / f"step_{step:05d}"
        dcp.save({"model": model.module.state_dict()}, checkpoint_id=str(path))
        self.saved.append(path)
        if dist.get_rank() == 0:
            print(f"kept {path.name}", flush=True)
        return True
