"""Compound splitter with accelerate: cold lexicon, a patience per process, common stop."""
import os
import tempfile
import time

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from lexicon import load_or_build, synthetic_corpus


class Patience:
    def __init__(self, limit):
        self.limit, self.best, self.bad = limit, float("inf"), 0

    def exhausted(self, value):
        if value < self.best - 1e-3:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad >= self.limit


def tensors(table, length=24):
    rows = []
    for line in synthetic_corpus(480):
        ids = [table.get(ch, 0) for ch in line if ch != " "][:length]
        rows.append(ids + [0] * (length - len(ids)))
    x = torch.tensor(rows)
    return TensorDataset(x, (x.sum(1) % 2))


def main():
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    cache = os.path.join(tempfile.gettempdir(), f"lexicon_{os.getppid()}.json")
    with accelerator.local_main_process_first():
        table = load_or_build(cache)
    size = len(table) + 1
    model = nn.Sequential(nn.EmbeddingBag(size, 12), nn.Linear(12, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.02)
    loader = DataLoader(tensors(table), batch_size=8, shuffle=True)
    model, opt, loader = accelerator.prepare(model, opt, loader)
    patience = Patience(limit=12 + 6 * accelerator.process_index)
    step = 0
    for epoch in range(10):
        stop = False
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()
            step += 1
            time.sleep(0.05)
            if patience.exhausted(loss.item()):
                accelerator.set_trigger()
            if accelerator.check_trigger():
                stop = True
                break
        if stop:
            break
    everyone = accelerator.gather(torch.tensor([step]))
    accelerator.print("stopped at", everyone.tolist(), flush=True)
    for _ in range(50 if accelerator.is_main_process else 0):
        time.sleep(0.1)
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
