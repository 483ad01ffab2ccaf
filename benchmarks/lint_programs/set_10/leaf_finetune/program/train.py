import os
import sys
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.utils.data import TensorDataset

from model import LeafNet
from trainer import Finetuner


@dataclass
class Config:
    classes: int = 6
    epochs: int = 4
    unfreeze_at: int = 1
    batch_size: int = 16
    lr: float = 1e-2
    seed: int = 0
    out: str = "leaf.pt"


def synthetic_leaves(n, classes, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    tint = torch.stack([y / classes, 1 - y / classes, (y % 2).float()], 1)
    x = tint[:, :, None, None] + 0.3 * torch.randn(n, 3, 16, 16, generator=g)
    return TensorDataset(x, y)


def main():
    cfg = Config()
    for arg in sys.argv[1:]:
        key, value = arg.split("=")
        setattr(cfg, key, type(getattr(cfg, key))(value))

    local_rank = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        device = torch.device("cuda", local_rank)
        dist.init_process_group("nccl")
    else:
        device = torch.device("cpu")
        dist.init_process_group("gloo")
    torch.manual_seed(cfg.seed)

    trainer = Finetuner(
        LeafNet(cfg.classes),
        synthetic_leaves(256, cfg.classes, 1),
        synthetic_leaves(75, cfg.classes, 2),
        cfg, device)
    trainer.fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
