import argparse
import copy

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from common import setup, sum_over_ranks
from data import build_loaders


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--npz", default="")
    p.add_argument("--val-fraction", type=float, default=0.2)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--hidden", type=int, default=512)
    p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--epochs", type=int, default=200)
    p.add_argument("--stop-after", type=int, default=15, help="epochs without a better validation error")
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=42)
    p.add_argument("--out", default="spectra.pt")
    return p.parse_args()


def build_model(bins, hidden, targets, dropout):
    return nn.Sequential(
        nn.Linear(bins, hidden), nn.GELU(), nn.Dropout(dropout),
        nn.Linear(hidden, hidden), nn.GELU(), nn.Dropout(dropout),
        nn.Linear(hidden, targets),
    )


def main():
    cfg = parse_args()
    rank, world, device = setup(cfg.seed)
    train, val, sampler = build_loaders(cfg, rank, world)
    x0, y0 = val.dataset[0]
    net = build_model(x0.numel(), cfg.hidden, y0.numel(), cfg.dropout).to(device)
    model = DDP(net, device_ids=[device.index] if device.type == "cuda" else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=1e-4)

    best, best_state, since_best = float("inf"), None, 0
    for epoch in range(cfg.epochs):
        sampler.set_epoch(epoch)
        model.train()
        loss_sum = seen = 0.0
        for x, y in train:
            loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss_sum += loss.item() * len(x)
            seen += len(x)

        net.eval()
        err_sum = n = 0.0
        with torch.no_grad():
            for x, y in val:
                err = nn.functional.mse_loss(net(x.to(device)), y.to(device), reduction="none").mean(1)
                err_sum += err.sum().item()
                n += len(x)
        loss_sum, seen, err_sum, n = sum_over_ranks(loss_sum, seen, err_sum, n, device=device)
        error = err_sum / n
        if rank == 0:
            print(f"epoch {epoch:3d}  train {loss_sum / seen:.5f}  val {error:.5f}", flush=True)

        if error < best:
            best, since_best = error, 0
            best_state = copy.deepcopy(net.state_dict())
        else:
            since_best += 1
        if since_best >= cfg.stop_after:
            break

    if rank == 0:
        torch.save({"state": best_state, "val_mse": best}, cfg.out)
        print(f"best validation mse {best:.5f}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
