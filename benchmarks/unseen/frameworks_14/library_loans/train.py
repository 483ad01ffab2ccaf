"""How long will a book be kept? Trained on all branches, reported by branch after each week (Accelerate)."""

import argparse
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from loans import FEATURES, RETURNED, history, week
from report import GENRES, BranchReport


class DaysKept(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.genre = nn.Embedding(len(GENRES), 8)
        self.net = nn.Sequential(nn.Linear(FEATURES + 8, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, features, genre):
        return 14 + self.net(torch.cat([features, self.genre(genre)], dim=-1)).squeeze(-1)


def train_week(accelerator, model, optimizer, loader):
    model.train()
    for features, days, genre in loader:
        loss = nn.functional.smooth_l1_loss(model(features, genre), days)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.02)


@torch.no_grad()
def report_week(accelerator, model, number):
    net = accelerator.unwrap_model(model).eval()
    report = BranchReport(accelerator)
    for features, days, genre in DataLoader(week(number, accelerator.process_index), batch_size=32):
        report.add(net(features, genre), days, genre)
    return report.write(number)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--loans", type=int, default=1920)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(23)
    accelerator = Accelerator(cpu=True)
    loader = DataLoader(history(args.loans), args.batch, shuffle=True, drop_last=True)
    model = DaysKept()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    best = float("inf")
    for number in range(len(RETURNED)):
        train_week(accelerator, model, optimizer, loader)
        best = min(best, report_week(accelerator, model, number))
    accelerator.print(f"best week: {best:.2f} days")
    accelerator.end_training()


if __name__ == "__main__":
    main()
