import argparse
import time

import torch
from accelerate import Accelerator, DataLoaderConfiguration
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from stream import ShardStream, list_shards, read_rows, write_shards


class CTRModel(nn.Module):
    def __init__(self, dim=16, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(dim, hidden), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data/clicks")
    p.add_argument("--synthetic", action="store_true", help="write a small data set first")
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--workers", type=int, default=0)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="ctr_ckpt")
    p.add_argument("--cpu", action="store_true")
    return p.parse_args()


def make_loaders(args):
    train = ShardStream(f"{args.data}/train", shuffle_buffer=1024, seed=args.seed)
    rows = list(read_rows(list_shards(f"{args.data}/valid")))
    kwargs = dict(num_workers=args.workers, pin_memory=torch.cuda.is_available())
    return DataLoader(train, args.batch_size, **kwargs), DataLoader(rows, args.batch_size * 4, **kwargs)


@torch.no_grad()
def evaluate(accelerator, model, loader):
    model.eval()
    hits, seen = 0, 0
    for batch in loader:
        guess = (model(batch["x"]) > 0).float()
        guess, label = accelerator.gather_for_metrics((guess, batch["y"]))
        hits += (guess == label).sum().item()
        seen += label.numel()
    return hits / seen


def main():
    args = parse_args()
    accelerator = Accelerator(cpu=args.cpu, dataloader_config=DataLoaderConfiguration(dispatch_batches=False))
    set_seed(args.seed)
    if args.synthetic:
        if accelerator.is_main_process:
            write_shards(f"{args.data}/train")
            write_shards(f"{args.data}/valid", shards=2, seed=1)
        accelerator.wait_for_everyone()

    train_loader, valid_loader = make_loaders(args)
    model = CTRModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    model, optimizer, train_loader, valid_loader = accelerator.prepare(model, optimizer, train_loader, valid_loader)
    criterion = nn.BCEWithLogitsLoss()

    for epoch in range(args.epochs):
        model.train()
        train_loader.set_epoch(epoch)
        start, rows = time.time(), 0
        for batch in train_loader:
            loss = criterion(model(batch["x"]), batch["y"])
            optimizer.zero_grad()
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            rows += batch["y"].numel()
        acc = evaluate(accelerator, model, valid_loader)
        accelerator.print(
            f"epoch {epoch} loss {loss.item():.4f} acc {acc:.4f} ({rows / (time.time() - start):.0f} rows/s per rank)"
        )
        accelerator.save_state(f"{args.out}/epoch_{epoch}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
