import csv
import os
import re
import zlib
from argparse import ArgumentParser

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, DistributedSampler

BUCKETS = 2 ** 17
TOKEN = re.compile(r"\w+")


def setup():
    dist.init_process_group(backend="nccl", init_method="env://")
    rank = dist.get_rank()
    world_size = dist.get_world_size()
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    return rank, world_size, device


def encode(text, max_len=256):
    ids = [1 + zlib.crc32(w.lower().encode()) % (BUCKETS - 1) for w in TOKEN.findall(text)[:max_len]]
    return torch.tensor(ids or [1])


def read(path):
    with open(path, newline="") as f:
        return [(int(row[0]) - 1, row[1] + " " + row[2]) for row in csv.reader(f)]


def collate(rows):
    y = torch.tensor([r[0] for r in rows])
    x = pad_sequence([encode(r[1]) for r in rows], batch_first=True)
    return x, y


class BiLSTM(nn.Module):
    def __init__(self, classes, dim=128, hidden=256):
        super().__init__()
        self.emb = nn.Embedding(BUCKETS, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, classes)

    def forward(self, x):
        mask = (x != 0).unsqueeze(-1)
        h, _ = self.rnn(self.emb(x))
        h = h.masked_fill(~mask, float("-inf")).amax(1)
        return self.out(h)


def accuracy(model, rows, rank, world_size, device):
    model.eval()
    counts = torch.zeros(2, device=device)
    mine = rows[rank::world_size]
    with torch.no_grad():
        for i in range(0, len(mine), 256):
            x, y = collate(mine[i:i + 256])
            counts[0] += (model(x.to(device)).argmax(-1).cpu() == y).sum().item()
            counts[1] += len(y)
    dist.all_reduce(counts)
    model.train()
    return (counts[0] / counts[1]).item()


def main():
    p = ArgumentParser()
    p.add_argument("--train", default="ag_news/train.csv")
    p.add_argument("--test", default="ag_news/test.csv")
    p.add_argument("--classes", type=int, default=4)
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch_size", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-3)
    args = p.parse_args()

    rank, world_size, device = setup()
    train_rows, test_rows = read(args.train), read(args.test)

    sampler = DistributedSampler(train_rows, num_replicas=world_size, rank=rank, seed=7)
    loader = DataLoader(train_rows, batch_size=args.batch_size, sampler=sampler,
                        collate_fn=collate, num_workers=4)

    torch.manual_seed(7)
    model = BiLSTM(args.classes).to(device)
    ddp = DistributedDataParallel(model, device_ids=[device.index])
    opt = torch.optim.Adam(ddp.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for step, (x, y) in enumerate(loader):
            loss = nn.functional.cross_entropy(ddp(x.to(device)), y.to(device))
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(ddp.parameters(), 1.0)
            opt.step()
            if rank == 0 and step % 100 == 0:
                print(epoch, step, round(loss.item(), 4), flush=True)
        acc = accuracy(model, test_rows, rank, world_size, device)
        if rank == 0:
            print(f"== epoch {epoch}: test acc {acc:.4f}", flush=True)
            torch.save(model.state_dict(), "bilstm.pt")

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
