"""Image-text matching from caption shards.

    torchrun --nproc-per-node 2 train.py config.toml
"""
import sys
import tomllib
from itertools import islice

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

import dist_env
from shards import WORDS, build_loader


class Matcher(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(WORDS, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.text = nn.EmbeddingBag(WORDS, dim)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, image, caption):
        a = F.normalize(self.image(image), dim=-1)
        b = F.normalize(self.text(caption), dim=-1)
        logits = self.scale.exp() * a @ b.t()
        target = torch.arange(len(a), device=a.device)
        return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "config.toml"
    with open(path, "rb") as f:
        cfg = tomllib.load(f)
    device = dist_env.init()
    rank = dist_env.get_rank()
    torch.manual_seed(cfg["seed"])

    loader, steps = build_loader(cfg)
    model = DDP(Matcher().to(device), device_ids=[device.index] if device.type == "cuda" else None)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, cfg["lr"], total_steps=cfg["epochs"] * steps)

    for epoch in range(cfg["epochs"]):
        loader.dataset.set_epoch(epoch)
        meter = torch.zeros(2, device=device)
        for image, caption in islice(loader, steps):
            loss = model(image.to(device), caption.to(device))
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
            meter += torch.stack([loss.detach(), torch.ones_like(loss.detach())])
        dist.all_reduce(meter)
        if rank == 0:
            print(f"epoch {epoch} loss {(meter[0] / meter[1]).item():.4f}", flush=True)
            torch.save(model.module.state_dict(), cfg["out"])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
