import argparse
import logging
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import broadcast
from torch.utils.data import DataLoader, TensorDataset

from pool import AnnotationDesk, UnlabeledPool

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")


def fit(acc, model, optimizer, x, y, max_epochs=3):
    loader = acc.prepare(DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True))
    best, stale = float("inf"), 0
    for epoch in range(max_epochs):
        running = 0.0
        for bx, by in loader:
            loss = F.cross_entropy(model(bx), by)
            acc.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            running += loss.item()
            time.sleep(0.02)
        # every replica has its own opinion; one of them is enough to end the round for all
        stale = 0 if running < best - 1e-3 else stale + 1
        best = min(best, running)
        if stale >= 2 or (epoch == 1 and acc.process_index == 2):
            acc.set_trigger()
        if acc.check_trigger():
            break
    return epoch


@torch.no_grad()
def most_uncertain(acc, model, pool, k):
    probs = acc.unwrap_model(model)(pool.x).softmax(-1)
    margin = (probs[:, 0] - probs[:, 1]).abs()
    margin[~pool.free] = 9.0
    picked = margin.topk(k, largest=False).indices
    return broadcast(picked, from_process=1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=2)
    ap.add_argument("--query", type=int, default=22)
    args = ap.parse_args()
    acc = Accelerator(cpu=True)
    torch.manual_seed(4)
    pool = UnlabeledPool(600, 12)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
    model, optimizer = acc.prepare(model, torch.optim.AdamW(model.parameters(), lr=5e-3))
    desk = AnnotationDesk()
    x, y = pool.take(torch.arange(0, 96))
    for rnd in range(args.rounds):
        stopped_at = fit(acc, model, optimizer, x, y)
        idx = most_uncertain(acc, model, pool, args.query)
        if acc.process_index == 1:        # this one has the desk's credentials
            desk.submit(idx)
        acc.wait_for_everyone()
        nx, ny = pool.take(idx)
        x, y = torch.cat([x, nx]), torch.cat([y, ny])
        acc.print(f"round {rnd}: stopped in epoch {stopped_at}, {len(x)} labelled rows", flush=True)
    fit(acc, model, optimizer, x, y)
    acc.wait_for_everyone()
    acc.end_training()


if __name__ == "__main__":
    main()
