import argparse

import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from checkpoint import CheckpointManager
from data import make_loader
from model import ElasticityNet


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--products", type=int, default=40)
    p.add_argument("--width", type=int, default=16)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--out", default="runs/elasticity")
    return p.parse_args()


def run_epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    total = torch.zeros(2, dtype=torch.float64)
    with torch.set_grad_enabled(optimizer is not None):
        for product, season, log_price, quantity in loader:
            loss = F.mse_loss(model(product, season, log_price), quantity)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += torch.tensor([loss.item() * len(quantity), len(quantity)], dtype=torch.float64)
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def main():
    args = parse()
    dist.init_process_group("gloo")
    torch.manual_seed(args.seed)
    net = ElasticityNet(args.products, args.width)
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.8)

    manager = CheckpointManager(args.out)
    start = manager.resume(net, optimizer, scheduler)
    model = DDP(net)

    train, held_out = make_loader(args, 4096, 1, True), make_loader(args, 512, 2, False)
    for epoch in range(start, args.epochs):
        train.sampler.set_epoch(epoch)
        fit = run_epoch(model, train, optimizer)
        scheduler.step()
        val = run_epoch(model.module, held_out)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: train {fit:.4f} val {val:.4f}", flush=True)
        manager.save(net, optimizer, scheduler, epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
