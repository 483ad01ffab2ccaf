import argparse

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_state_dict

from data import build_dataloader
from model import Transformer
from parallel import parallelize, start


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--tp", type=int, default=2)
    p.add_argument("--vocab", type=int, default=64)
    p.add_argument("--windows", type=int, default=2048)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--ckpt", default="ckpt")
    return p.parse_args()


def loss_fn(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    total = torch.zeros(2, device=device)
    for x, y in loader:
        total[0] += loss_fn(model, x.to(device), y.to(device)) * len(x)
        total[1] += len(x)
    dist.all_reduce(total)
    model.train()
    return (total[0] / total[1]).item()


def main():
    cfg = parse()
    mesh, device = start(cfg.tp)
    torch.manual_seed(cfg.seed)
    model = parallelize(Transformer(cfg.vocab).to(device), mesh)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, foreach=False)
    train, val = build_dataloader(cfg, mesh, "train"), build_dataloader(cfg, mesh, "val")

    step = 0
    for epoch in range(cfg.epochs):
        train.sampler.set_epoch(epoch)
        for x, y in train:
            loss = loss_fn(model, x.to(device), y.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            if step % 20 == 0 and dist.get_rank() == 0:
                print(f"step {step} loss {loss.item():.4f}", flush=True)
        val_loss = validate(model, val, device)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} val {val_loss:.4f}", flush=True)
        model_sd, opt_sd = get_state_dict(model, opt)
        dcp.save({"model": model_sd, "optim": opt_sd}, checkpoint_id=f"{cfg.ckpt}/epoch{epoch}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
