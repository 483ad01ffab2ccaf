"""Phase picker: tells P onsets, S onsets and noise apart in short windows."""

import argparse
import time

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed
from torch import nn
from torch.utils.data import DataLoader

from archive import CLASSES, Archive


class Picker(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.stem = nn.Conv1d(3, width, kernel_size=7, padding=3)
        self.body = nn.Sequential(
            nn.Conv1d(width, 2 * width, kernel_size=5, stride=2, padding=2),
            nn.GELU(),
            nn.Conv1d(2 * width, 2 * width, kernel_size=3, stride=2, padding=1),
            nn.GELU(),
        )
        self.head = nn.Linear(2 * width, len(CLASSES))

    def forward(self, x):
        h = self.body(torch.nn.functional.gelu(self.stem(x)))
        return self.head(h.amax(dim=-1))


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--windows", type=int, default=17600)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--floor", type=float, default=1e-4, help="smallest spread of a living channel")
    return p.parse_args()


def detrend(x):
    """Removes a straight line from each channel; on the cluster this includes the instrument response."""
    time.sleep(0.045)
    t = torch.linspace(-1, 1, x.shape[-1])
    slope = (x * t).mean(dim=-1, keepdim=True) / (t * t).mean()
    return x - x.mean(dim=-1, keepdim=True) - slope * t


def train_epoch(accelerator, model, optimizer, loader, floor):
    loss_fn = nn.CrossEntropyLoss()
    seen, total = 0, 0.0
    for step, (traces, labels) in enumerate(loader):
        alive = traces.std(dim=-1).amax(dim=-1) > floor
        if not alive.any():
            continue
        traces, labels = detrend(traces[alive]), labels[alive]
        loss = loss_fn(model(traces), labels)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        seen += len(labels)
        total += loss.item() * len(labels)
        if step % 50 == 0:
            accelerator.print(f"step {step:4d}  loss {total / seen:.4f}", flush=True)
    return total, seen


@torch.no_grad()
def evaluate(accelerator, model, loader):
    model.eval()
    right, count = 0, 0
    for traces, labels in loader:
        guess = model(detrend(traces)).argmax(dim=-1)
        guess, labels = accelerator.gather_for_metrics((guess, labels))
        right += int((guess == labels).sum())
        count += len(labels)
    model.train()
    return right / max(count, 1)


def main():
    args = parse()
    torch.set_num_threads(1)
    set_seed(7)
    accelerator = Accelerator(
        cpu=True, dataloader_config=DataLoaderConfiguration(dispatch_batches=False, even_batches=True)
    )
    model = Picker()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    train = DataLoader(Archive(args.windows), batch_size=args.batch)
    held_out = DataLoader(Archive(640, seed=1985), batch_size=args.batch)
    model, optimizer, train, held_out = accelerator.prepare(model, optimizer, train, held_out)

    for epoch in range(args.epochs):
        total, seen = train_epoch(accelerator, model, optimizer, train, args.floor)
        accelerator.wait_for_everyone()
        accuracy = evaluate(accelerator, model, held_out)
        accelerator.print(f"epoch {epoch}: loss {total / seen:.4f}, accuracy {accuracy:.3f}", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
