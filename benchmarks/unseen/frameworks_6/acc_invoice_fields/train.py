import argparse
import time

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, Dataset

from book import StatBook


class Invoices(Dataset):
    """Per process part of the scanned invoices; some pages show no total."""

    def __init__(self, part, pages=320):
        g = torch.Generator().manual_seed(70 + part)
        self.x = torch.randn(pages, 24, generator=g)
        self.field = torch.randint(0, 6, (pages,), generator=g)
        self.total = torch.rand(pages, generator=g)
        self.has_total = torch.ones(pages, dtype=torch.bool)
        if part == 1:
            self.has_total[:16] = False     # a cover letter and its attachments

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.field[i], self.total[i], self.has_total[i]


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU())
        self.field = nn.Linear(48, 6)
        self.total = nn.Linear(48, 1)

    def forward(self, x):
        h = self.body(x)
        return self.field(h), self.total(h).squeeze(-1)


def losses(model, batch, book):
    x, field, total, has_total = batch
    logits, amount = model(x)
    error = (amount - total).abs() * has_total
    if has_total.any():
        book.add("amount_error", error[has_total], StatBook.ROWS)
    cls = nn.functional.cross_entropy(logits, field)
    book.add("field_loss", cls, StatBook.MEAN)
    return cls + error.mean()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--report-every", type=int, default=10)
    a = p.parse_args()
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(3)
    model = Reader()
    optim = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optim = accelerator.prepare(model, optim)
    loader = DataLoader(Invoices(accelerator.process_index), batch_size=a.batch)
    book = StatBook(accelerator)
    for epoch in range(2):
        for step, batch in enumerate(loader, 1):
            loss = losses(model, batch, book)
            accelerator.backward(loss)
            optim.step()
            optim.zero_grad()
            time.sleep(0.02)
            if step % a.report_every == 0:
                stats = book.flush()
                accelerator.print(epoch, step, {k: round(v, 4) for k, v in stats.items()})
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
