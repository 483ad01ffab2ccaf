from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor


def whole(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


class Vault:
    """Versioned weights on the one host that mounts the vault."""

    def __init__(self, root, host, keep=3):
        self.root = Path(root)
        self.host = host
        self.keep = keep

    def deposit(self, model, step):
        if dist.get_rank() == self.host:
            self.root.mkdir(parents=True, exist_ok=True)
            weights = {name: whole(value) for name, value in model.state_dict().items()}
            torch.save({"step": step, "weights": weights}, self.root / f"{step:06d}.pt")
            self.prune()
        dist.barrier()

    def prune(self):
        for old in sorted(self.root.glob("*.pt"))[:-self.keep]:
            old.unlink()
