import os
from pathlib import Path

import torch
import torch.distributed as dist


class Checkpointer:
    """Keeps one rolling checkpoint on the disk of the first node."""

    def __init__(self, run_dir, device):
        self.path = Path(run_dir) / "last.pt"
        self.device = device
        self.is_main = dist.get_rank() == 0
        if self.is_main:
            self.path.parent.mkdir(parents=True, exist_ok=True)

    def save(self, epoch, model, optimizer):
        if self.is_main:
            tmp = self.path.with_suffix(".tmp")
            torch.save(
                {
                    "epoch": epoch,
                    "model": model.state_dict(),
                    "optimizer": optimizer.state_dict(),
                },
                tmp,
            )
            os.replace(tmp, self.path)
        dist.barrier()

    def restore(self, model, optimizer):
        """Loads the rolling checkpoint, if any; returns the next epoch on all ranks."""
        state = {"epoch": -1}
        if self.is_main and self.path.exists():
            state = torch.load(self.path, map_location="cpu", weights_only=True)
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            print(f"restored epoch {state['epoch']} from {self.path}", flush=True)
        next_epoch = torch.tensor(state["epoch"] + 1, device=self.device)
        dist.broadcast(next_epoch, src=0)
        return int(next_epoch)
