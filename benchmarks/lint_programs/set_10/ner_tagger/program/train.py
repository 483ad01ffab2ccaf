"""BiLSTM entity tagger with sharded optimizer states."""
import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

VOCAB, TAGS, SEQ = 200, 5, 24


def synthetic_sentences(n, seed):
    g = torch.Generator().manual_seed(seed)
    words = torch.randint(0, VOCAB, (n, SEQ), generator=g)
    prev = torch.roll(words, 1, dims=1)
    tags = (words // 7 + prev // 11) % TAGS
    return TensorDataset(words, tags)


class Tagger(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * dim, TAGS)

    def forward(self, words):
        h, _ = self.lstm(self.emb(words))
        return self.head(h)


@torch.no_grad()
def evaluate(model, ds, device, rank, world, batch_size):
    model.eval()
    mine = torch.utils.data.Subset(ds, range(rank, len(ds), world))
    hits = torch.zeros(2, device=device)
    for words, tags in DataLoader(mine, batch_size=batch_size):
        words, tags = words.to(device), tags.to(device)
        pred = model.module(words).argmax(-1)
        hits[0] += (pred == tags).sum()
        hits[1] += tags.numel()
    dist.all_reduce(hits)
    return (hits[0] / hits[1]).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--ckpt-dir", default="ckpt")
    args = ap.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    use_cuda = torch.cuda.is_available()
    if use_cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if use_cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", local_rank) if use_cuda else torch.device("cpu")
    torch.manual_seed(0)

    train_ds, val_ds = synthetic_sentences(512, 1), synthetic_sentences(101, 2)
    sampler = DistributedSampler(train_ds, shuffle=True)
    loader = DataLoader(train_ds, batch_size=args.batch_size, sampler=sampler)

    model = DDP(Tagger().to(device), device_ids=[local_rank] if use_cuda else None)
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), optimizer_class=torch.optim.Adam, lr=args.lr)

    ckpt_dir = Path(args.ckpt_dir)
    ckpt_dir.mkdir(parents=True, exist_ok=True)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for words, tags in loader:
            words, tags = words.to(device), tags.to(device)
            loss = F.cross_entropy(model(words).flatten(0, 1), tags.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        acc = evaluate(model, val_ds, device, rank, world, args.batch_size)
        if rank == 0:
            print(f"epoch {epoch} accuracy {acc:.3f}", flush=True)
            optimizer.consolidate_state_dict(to=0)
            tmp = ckpt_dir / "last.pt.tmp"
            torch.save({"epoch": epoch, "model": model.module.state_dict(),
                        "optimizer": optimizer.state_dict()}, tmp)
            tmp.replace(ckpt_dir / "last.pt")
        dist.barrier()

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
