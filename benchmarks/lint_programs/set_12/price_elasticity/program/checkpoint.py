import os

import torch
import torch.distributed as dist


class CheckpointManager:
    """Keeps `last.pt` in a folder; rank 0 does the reading and the writing."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "last.pt")
        self.rank = dist.get_rank()
        if self.rank == 0:
            os.makedirs(folder, exist_ok=True)

    def save(self, model, optimizer, scheduler, epoch):
        if self.rank == 0:
            tmp = self.path + ".tmp"
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                        "scheduler": scheduler.state_dict(), "epoch": epoch}, tmp)
            os.replace(tmp, self.path)
        dist.barrier()

    def resume(self, model, optimizer, scheduler):
        """Returns the first epoch to run. Call before wrapping: DDP spreads the weights."""
        start = [0]
        if self.rank == 0 and os.path.exists(self.path):
            state = torch.load(self.path, map_location="cpu", weights_only=True)
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            scheduler.load_state_dict(state["scheduler"])
            start = [state["epoch"] + 1]
        dist.broadcast_object_list(start, src=0)
        return start[0]
