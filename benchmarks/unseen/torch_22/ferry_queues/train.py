"""Waiting times at three ferry landings; a process for each landing, one model for all of them (DDP)."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from landing import LANDINGS, Departures
from run import Run


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--departures", type=int, default=9600)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=3e-3)
    return parser.parse_args()


def fit(model, optimizer, departures, epochs, run):
    step = 0
    for epoch in range(epochs):
        for features, wait in departures:
            loss = nn.functional.smooth_l1_loss(model(features)[:, 0], wait)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 25 == 0:
                run.record(step=step, loss=loss.item())
            time.sleep(0.02)
        if run.rank == 0:
            print(f"epoch {epoch}: {step} steps, loss {loss.item():.4f}", flush=True)


def main():
    args = parse()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    number = dist.get_rank() % len(LANDINGS)
    departures = Departures(number, args.departures, args.batch)
    with Run(f"ferry-{LANDINGS[number][0]}") as run:
        fit(model, optimizer, departures, args.epochs, run)
        print(f"{LANDINGS[number][0]}: {len(run.values)} records", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
