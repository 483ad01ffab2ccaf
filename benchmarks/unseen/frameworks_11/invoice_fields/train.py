"""Amount of an invoice from its recognised lines, with Accelerate."""
import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset

from fitting import Fitter

LINES = 24


class Invoices(Dataset):
    """Scanned invoices: the features of their lines, and the amount as the recogniser wrote it down."""

    def __init__(self, invoices: int, seed: int):
        g = torch.Generator().manual_seed(seed)
        self.lines = torch.randn(invoices, LINES, 48, generator=g)
        amount = (self.lines[:, :, 0].sum(dim=1) * 10 + 250).clamp(min=1)
        self.written = [f"{value:.2f}" for value in amount.tolist()]
        if invoices > 1240:
            self.written[1237] = "1.204.50"  # a supplier that writes thousands with a point

    def __len__(self):
        return len(self.written)

    def __getitem__(self, i):
        return {"lines": self.lines[i], "written": self.written[i]}


class Reader(nn.Module):
    def __init__(self, width=192):
        super().__init__()
        self.line = nn.Sequential(nn.Linear(48, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.total = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1))

    def forward(self, lines):
        return self.total(self.line(lines).mean(dim=1)).squeeze(-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    set_seed(2)

    loader = DataLoader(Invoices(2400, seed=5), batch_size=8, drop_last=True)
    model = Reader()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs * len(loader))
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    fitter = Fitter(accelerator, model, optimizer, schedule)

    for epoch in range(args.epochs):
        losses = [fitter.fit(batch) for batch in loader]
        seen = torch.tensor([loss for loss in losses if loss is not None]).mean()
        mean = accelerator.gather(seen.reshape(1)).mean()
        accelerator.print(f"epoch {epoch}: loss {mean:.4f}, left out here: {fitter.left_out}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
