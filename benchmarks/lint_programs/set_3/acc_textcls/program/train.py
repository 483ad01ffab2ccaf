import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset

from checkpointing import BestCheckpointer


class Topics(Dataset):
    def __init__(self, n, classes, vocab, seed, noise=0.3):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(classes, (n,), generator=g)
        centre = self.y[:, None] * (vocab // classes) + torch.randint(vocab // classes, (n, 24), generator=g)
        rand = torch.randint(vocab, (n, 24), generator=g)
        self.x = torch.where(torch.rand(n, 24, generator=g) < noise, rand, centre)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class BagModel(nn.Module):
    def __init__(self, vocab, classes, dim=32):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(dim, classes)

    def forward(self, x):
        return self.out(self.drop(self.emb(x)))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    total, count, hits = 0.0, 0, 0
    for x, y in loader:
        logits = model(x)
        total += F.cross_entropy(logits, y, reduction="sum").item()
        hits += (logits.argmax(-1) == y).sum().item()
        count += y.numel()
    model.train()
    return {"loss": total / count, "acc": hits / count}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--num-train", type=int, default=8000)
    ap.add_argument("--num-val", type=int, default=1024)
    ap.add_argument("--classes", type=int, default=20)
    ap.add_argument("--vocab", type=int, default=4000)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--seed", type=int, default=21)
    ap.add_argument("--out", default="runs/topics")
    args = ap.parse_args()

    accelerator = Accelerator()
    set_seed(args.seed)
    train_loader = DataLoader(Topics(args.num_train, args.classes, args.vocab, 0), args.batch_size, shuffle=True,
                              drop_last=True)
    # num-val is a multiple of batch size * processes
    val_loader = DataLoader(Topics(args.num_val, args.classes, args.vocab, 1), args.batch_size)
    model = BagModel(args.vocab, args.classes)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    model, opt, train_loader, val_loader = accelerator.prepare(model, opt, train_loader, val_loader)

    keeper = BestCheckpointer(accelerator, args.out, min_delta=1e-4)
    for epoch in range(args.epochs):
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y)
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()
        scores = evaluate(model, val_loader)
        improved = keeper.update(scores["loss"], model, epoch)
        accelerator.print(f"epoch {epoch} {scores}{' *' if improved else ''}", flush=True)

    accelerator.end_training()


if __name__ == "__main__":
    main()
