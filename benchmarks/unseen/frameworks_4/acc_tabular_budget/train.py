"""Store demand, fold 0. Embeddings for the categoricals + a small MLP."""
import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

from timing import Budget, within

CARD = {"store": 54, "family": 33, "dow": 7}


def lag_features(n_rows, seed=2024):
    rng = np.random.default_rng(seed)
    cats = np.stack([rng.integers(0, c, n_rows) for c in CARD.values()], 1)
    nums = rng.normal(size=(n_rows, 12)).astype("float32")
    y = (nums[:, :4].sum(1) + 0.1 * cats[:, 0]).astype("float32")
    return cats, nums, y


def rolling_windows(nums, windows=(7, 14, 28, 56)):
    out = [nums]
    for _ in windows:
        time.sleep(1.0)  # the real frame has 3M rows
        out.append(np.roll(nums, 1, axis=0)[:, :2])
    return np.concatenate(out, 1)


class Net(nn.Module):
    def __init__(self, n_num):
        super().__init__()
        self.emb = nn.ModuleList([nn.Embedding(c, 4) for c in CARD.values()])
        self.body = nn.Sequential(nn.Linear(n_num + 4 * len(CARD), 48), nn.SiLU(), nn.Linear(48, 1))

    def forward(self, cats, nums):
        e = [m(cats[:, i]) for i, m in enumerate(self.emb)]
        return self.body(torch.cat([nums, *e], 1)).squeeze(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--budget", type=float, default=12.0)
    ap.add_argument("--epochs", type=int, default=40)
    args = ap.parse_args()

    acc = Accelerator(cpu=True)
    with acc.main_process_first():
        budget = Budget(args.budget)
        cats, nums, y = lag_features(2400)
        if acc.is_main_process:
            nums = rolling_windows(nums)
            np.save("/tmp/fold0_windows.npy", nums)
        else:
            nums = np.load("/tmp/fold0_windows.npy")

    ds = TensorDataset(torch.from_numpy(cats), torch.from_numpy(nums), torch.from_numpy(y))
    model = Net(nums.shape[1])
    opt = torch.optim.AdamW(model.parameters(), 3e-3)
    model, opt, loader = acc.prepare(model, opt, DataLoader(ds, batch_size=16, shuffle=True))

    for epoch in range(args.epochs):
        seen = 0
        for c, x, t in within(loader, budget):
            loss = F.mse_loss(model(c, x), t)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            seen += 1
            time.sleep(0.02)
        acc.print(f"epoch {epoch} steps {seen} loss {loss.item():.3f} spent {budget.spent:.0f}s")
        if seen < len(loader):
            break

    acc.wait_for_everyone()
    if acc.is_main_process:
        torch.save(acc.unwrap_model(model).state_dict(), "/tmp/fold0.pt")


if __name__ == "__main__":
    main()
