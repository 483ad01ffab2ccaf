import os

import torch
import torch.distributed as dist

import comm


class Checkpointer:
    def __init__(self, model, optimizer, save_dir):
        self.model, self.optimizer, self.save_dir = model, optimizer, save_dir

    def save(self, name, **extra):
        # optimizer shards live on all ranks
        self.optimizer.consolidate_state_dict(to=0)
        if comm.is_main():
            os.makedirs(self.save_dir, exist_ok=True)
            data = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), **extra}
            torch.save(data, os.path.join(self.save_dir, f"{name}.pth"))
        dist.barrier()
