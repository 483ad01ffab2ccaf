import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from data import HashCollator, PairDataset, stage
from distributed import (barrier, gather_with_grad, get_local_rank, get_rank, get_world_size,
                         is_main, setup)


class Tower(nn.Module):
    def __init__(self, vocab_size, dim):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab_size, dim, mode="mean", padding_idx=0)
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))

    def forward(self, ids):
        return F.normalize(self.mlp(self.emb(ids)), dim=-1)


class BiEncoder(nn.Module):
    def __init__(self, vocab_size=4096, dim=64):
        super().__init__()
        self.question, self.passage = Tower(vocab_size, dim), Tower(vocab_size, dim)

    def forward(self, questions, passages):
        return self.question(questions), self.passage(passages)


def contrastive_loss(q, p, temperature):
    all_p = gather_with_grad(p)
    target = torch.arange(q.size(0), device=q.device) + get_rank() * q.size(0)
    scores = q @ all_p.t() / temperature
    loss = F.cross_entropy(scores, target)
    return loss, (scores.argmax(1) == target).float().mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--corpus", required=True)
    ap.add_argument("--output", required=True)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--max-len", type=int, default=32)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--temperature", type=float, default=0.05)
    ap.add_argument("--workers", type=int, default=2)
    ap.add_argument("--seed", type=int, default=42)
    args = ap.parse_args()

    device = setup()
    torch.manual_seed(args.seed + get_rank())

    dataset = PairDataset(stage(args.corpus))
    sampler = DistributedSampler(dataset, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(dataset, args.batch_size, sampler=sampler, drop_last=True,
                        num_workers=args.workers, collate_fn=HashCollator(4096, args.max_len),
                        pin_memory=device.type == "cuda")

    model = DDP(BiEncoder().to(device),
                device_ids=[get_local_rank()] if device.type == "cuda" else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    total = args.epochs * len(loader)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: max(0.0, 1 - s / total))

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        meter = torch.zeros(3, device=device)
        for questions, passages in loader:
            q, p = model(questions.to(device), passages.to(device))
            loss, acc = contrastive_loss(q, p, args.temperature)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            meter += torch.stack([loss.detach(), acc, torch.ones_like(acc)])
        dist.all_reduce(meter)
        if is_main():
            print(f"epoch {epoch} loss {meter[0] / meter[2]:.4f} acc {meter[1] / meter[2]:.3f} "
                  f"({get_world_size()} processes)", flush=True)
            os.makedirs(args.output, exist_ok=True)
            torch.save(model.module.state_dict(), os.path.join(args.output, "biencoder.pt"))
        barrier()

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
