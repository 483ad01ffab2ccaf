"""torchrun --nproc-per-node 2 train.py"""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from batching import TokenBudgetBatches
from data import PAD, Names, collate


class Transliterator(nn.Module):
    def __init__(self, symbols, width):
        super().__init__()
        self.src = nn.Embedding(symbols, width, padding_idx=PAD)
        self.tgt = nn.Embedding(symbols, width, padding_idx=PAD)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(2 * width, symbols)

    def forward(self, src, tgt):
        memory, h = self.encoder(self.src(src))
        states, _ = self.decoder(self.tgt(tgt), h)
        scores = states @ memory.transpose(1, 2)
        scores = scores.masked_fill(src.eq(PAD)[:, None], float("-inf"))
        return self.out(torch.cat([states, scores.softmax(-1) @ memory], -1))


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--names", type=int, default=1501)
    p.add_argument("--letters", type=int, default=30)
    p.add_argument("--width", type=int, default=48)
    p.add_argument("--budget", type=int, default=400)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--seed", type=int, default=4)
    p.add_argument("--out", default="runs/translit")
    return p.parse_args()


def main():
    args = parse()
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)
    names = Names(args.names, args.letters, seed=10)
    batches = TokenBudgetBatches(names.lengths, args.budget, rank, world, args.seed)
    loader = DataLoader(names, batch_sampler=batches, collate_fn=collate)
    model = DDP(Transliterator(args.letters + 3, args.width).to(device))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        batches.set_epoch(epoch)
        model.train()
        total = torch.zeros(2, dtype=torch.float64, device=device)
        for src, tgt in loader:
            src, tgt = src.to(device), tgt.to(device)
            logits = model(src, tgt[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            n = int((tgt[:, 1:] != PAD).sum())
            total += total.new_tensor([loss.item() * n, n])
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch}: loss {(total[0] / total[1]).item():.4f}", flush=True)

    if rank == 0:
        os.makedirs(args.out, exist_ok=True)
        torch.save(model.module.state_dict(), os.path.join(args.out, "translit.pt"))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
