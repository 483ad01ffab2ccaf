"""Words in scans of old deeds with Accelerate: a recognizer that is scored on a held-out shelf after each epoch."""

import argparse
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset

LETTERS = 27
BLANK = 0


class Deeds(Dataset):
    """Lines of a deed: columns of pixels, and the letters written there (27 to a line, in a clean hand)."""

    def __init__(self, count, columns, seed, worn=()):
        self.count = count
        self.columns = columns
        self.seed = seed
        self.worn = set(worn)
        self.shapes = torch.randn(LETTERS, 16, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 10_000 + i)
        letters = torch.randint(1, LETTERS, (self.columns,), generator=g)
        if i in self.worn:
            letters[-1:] = BLANK  # the edge of the sheet is lost
        pixels = self.shapes[letters] + 0.6 * torch.randn(self.columns, 16, generator=g)
        return pixels, letters


class Reader(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.rnn = nn.GRU(16, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, LETTERS)

    def forward(self, pixels):
        hidden, _ = self.rnn(pixels)
        return self.out(hidden)


class ShelfScore:
    """Letters read and letters written, of all processes; blanks do not count."""

    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.read, self.written = [], []

    def add(self, logits, letters):
        keep = letters != BLANK
        self.read.append(logits.argmax(-1)[keep])
        self.written.append(letters[keep])

    def result(self):
        read = self.accelerator.gather(torch.cat(self.read))
        written = self.accelerator.gather(torch.cat(self.written))
        return (read == written).float().mean().item()


@torch.no_grad()
def evaluate(accelerator, model, loader):
    model.eval()
    score = ShelfScore(accelerator)
    for pixels, letters in loader:
        score.add(model(pixels), letters)
    model.train()
    return score.result()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=600)
    parser.add_argument("--columns", type=int, default=24)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(13)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    train = DataLoader(Deeds(args.lines, args.columns, seed=1), args.batch, shuffle=True)
    shelf_a = DataLoader(Deeds(96, args.columns, seed=2), args.batch)
    shelf_b = DataLoader(Deeds(96, args.columns, seed=3, worn=(9, 10, 33)), args.batch)
    model = Reader()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer, train, shelf_a, shelf_b = accelerator.prepare(model, optimizer, train, shelf_a, shelf_b)
    for epoch in range(args.epochs):
        for pixels, letters in train:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(pixels).flatten(0, 1), letters.flatten())
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            time.sleep(0.02)
        accuracy = evaluate(accelerator, model, shelf_a)
        accelerator.print(f"epoch {epoch}: {accuracy:.3f} on the first shelf", flush=True)
    accuracy = evaluate(accelerator, model, shelf_b)
    accelerator.print(f"{accuracy:.3f} on the second shelf", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
