import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from net import MidiMoE


def rows_of(path, length):
    notes = np.load(path)
    n = (len(notes) - 1) // length
    x = torch.from_numpy(notes[: n * length].astype(np.int64)).view(n, length)
    y = torch.from_numpy(notes[1 : n * length + 1].astype(np.int64)).view(n, length)
    return TensorDataset(x, y)


def is_expert(p):
    return getattr(p, "is_expert", False)


@torch.no_grad()
def sync_grads(model, world):
    shared = [p.grad for p in model.parameters() if not is_expert(p)]
    flat = torch.cat([g.flatten() for g in shared])
    dist.all_reduce(flat)
    flat /= world
    for g, new in zip(shared, flat.split([g.numel() for g in shared])):
        g.copy_(new.view_as(g))
    # an expert has already seen the gradient of the tokens of all ranks
    for p in model.parameters():
        if is_expert(p):
            p.grad /= world


@torch.no_grad()
def clip(model, limit):
    sq = lambda ps: sum(p.grad.pow(2).sum() for p in ps)
    mine = sq(p for p in model.parameters() if is_expert(p))
    dist.all_reduce(mine)
    norm = (mine + sq(p for p in model.parameters() if not is_expert(p))).sqrt()
    for p in model.parameters():
        p.grad.mul_((limit / (norm + 1e-6)).clamp(max=1.0))
    return norm


@torch.no_grad()
def held_out_loss(model, loader):
    model.eval()
    acc = torch.zeros(2, device="cuda")
    for x, y in loader:
        logits, _ = model(x.cuda())
        acc[0] += F.cross_entropy(logits.flatten(0, 1), y.cuda().flatten(), reduction="sum")
        acc[1] += y.numel()
    dist.all_reduce(acc)
    model.train()
    return (acc[0] / acc[1]).item()


def save(model, folder, rank, epoch):
    names = {n for n, p in model.named_parameters() if is_expert(p)}
    sd = model.state_dict()
    os.makedirs(folder, exist_ok=True)
    torch.save({n: sd[n] for n in names}, f"{folder}/e{epoch}.experts{rank}.pt")
    if rank == 0:
        torch.save({n: t for n, t in sd.items() if n not in names}, f"{folder}/e{epoch}.shared.pt")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--corpus", required=True)
    ap.add_argument("--held-out", required=True)
    ap.add_argument("--ckpt-dir", required=True)
    ap.add_argument("--vocab", type=int, default=512)
    ap.add_argument("--length", type=int, default=1024)
    ap.add_argument("--batch", type=int, default=8)
    ap.add_argument("--experts-per-rank", type=int, default=2)
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--balance", type=float, default=0.01)
    a = ap.parse_args()

    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))

    torch.manual_seed(rank)
    model = MidiMoE(a.vocab, length=a.length, experts_per_rank=a.experts_per_rank).cuda()
    for p in model.parameters():
        if not is_expert(p):
            dist.broadcast(p.data, src=0)
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr)

    train, held = rows_of(a.corpus, a.length), rows_of(a.held_out, a.length)
    sampler = DistributedSampler(train, drop_last=True)
    loader = DataLoader(train, a.batch, sampler=sampler, drop_last=True, pin_memory=True)
    held_loader = DataLoader(held, a.batch, sampler=DistributedSampler(held, shuffle=False))

    for epoch in range(a.epochs):
        sampler.set_epoch(epoch)
        for i, (x, y) in enumerate(loader):
            logits, balance = model(x.cuda(non_blocking=True))
            ce = F.cross_entropy(logits.flatten(0, 1), y.cuda(non_blocking=True).flatten())
            opt.zero_grad()
            (ce + a.balance * balance).backward()
            sync_grads(model, world)
            norm = clip(model, 1.0)
            opt.step()
            if i % 50 == 0 and rank == 0:
                print(f"{epoch}.{i} ce {ce.item():.3f} balance {balance.item():.2f} norm {norm.item():.2f}")
        loss = held_out_loss(model, held_loader)
        if rank == 0:
            print(f"epoch {epoch} held-out {loss:.4f}", flush=True)
        save(model, a.ckpt_dir, rank, epoch)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
