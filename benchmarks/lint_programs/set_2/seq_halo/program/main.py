import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from halo import SeqParallelConv


class DNAModel(nn.Module):
    def __init__(self, vocab=8, dim=256, depth=12, kernel=9):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(SeqParallelConv(dim, kernel) for _ in range(depth))
        self.out = nn.Linear(dim, vocab)

    def forward(self, idx):
        x = self.emb(idx)
        for layer in self.layers:
            x = layer(x)
        return self.out(x)


def windows(genome, length, batch, seed):
    # the same windows on every rank; each rank keeps its own part of the length
    rng = np.random.default_rng(seed)
    while True:
        starts = rng.integers(0, len(genome) - length - 1, size=batch)
        yield np.stack([genome[s : s + length + 1] for s in starts]).astype(np.int64)


def sync_grads(model):
    world = dist.get_world_size()
    handles = []
    for p in model.parameters():
        if p.grad is not None:
            handles.append(dist.all_reduce(p.grad, async_op=True))
    for h in handles:
        h.wait()
    for p in model.parameters():
        if p.grad is not None:
            p.grad.div_(world)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--genome", default="chr1.npy")
    ap.add_argument("--length", type=int, default=131072)
    ap.add_argument("--batch", type=int, default=2)
    ap.add_argument("--steps", type=int, default=20000)
    a = ap.parse_args()

    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    rank, world = dist.get_rank(), dist.get_world_size()
    assert a.length % world == 0
    local = a.length // world

    torch.manual_seed(0)
    model = DNAModel().cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=6e-4)
    genome = np.load(a.genome, mmap_mode="r")
    it = windows(genome, a.length, a.batch, seed=17)

    for step in range(a.steps):
        w = torch.from_numpy(next(it))
        lo = rank * local
        x = w[:, lo : lo + local].cuda()
        y = w[:, lo + 1 : lo + local + 1].cuda()
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        sync_grads(model)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 100 == 0:
            total = loss.detach().clone()
            dist.all_reduce(total)
            if rank == 0:
                print(step, total.item() / world, flush=True)

    if rank == 0:
        torch.save(model.state_dict(), "dna.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
