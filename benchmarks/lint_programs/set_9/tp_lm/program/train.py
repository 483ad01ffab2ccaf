"""2-D parallel toy LM.

torchrun --nproc_per_node=8 train.py --preset base          # dp 2 x tp 4
torchrun --nproc_per_node=2 train.py --preset debug         # dp 1 x tp 2
"""
import argparse
import dataclasses

import torch
import torch.distributed as dist
import torch.nn.functional as F

from configs import PRESETS
from data import Counting, build_loader
from model import LM
from parallel import parallelize, start


def train(cfg, device, mesh):
    torch.manual_seed(cfg.seed)
    model = parallelize(LM(cfg).to(device), mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, foreach=False)
    loader, sampler = build_loader(cfg, Counting(cfg))
    total_steps = cfg.epochs * len(loader)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, cfg.lr, total_steps=total_steps)
    is_main = dist.get_rank() == 0

    step = 0
    for epoch in range(cfg.epochs):
        sampler.set_epoch(epoch)
        for ids, targets in loader:
            logits = model(ids.to(device))
            loss = F.cross_entropy(logits.flatten(0, 1), targets.to(device).flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            scheduler.step()
            step += 1
            if step % cfg.log_every == 0 or step == total_steps:
                mean = loss.detach().clone()
                dist.all_reduce(mean, group=mesh.get_group("dp"))
                if is_main:
                    print(f"epoch {epoch} step {step} loss {mean.item() / mesh['dp'].size():.4f}", flush=True)
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--preset", choices=sorted(PRESETS), default="debug")
    parser.add_argument("--tp", type=int)
    parser.add_argument("--epochs", type=int)
    args = parser.parse_args()
    overrides = {k: v for k, v in vars(args).items() if k != "preset" and v is not None}
    cfg = dataclasses.replace(PRESETS[args.preset], **overrides)

    device, mesh = start(cfg)
    try:
        train(cfg, device, mesh)
        dist.barrier()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
