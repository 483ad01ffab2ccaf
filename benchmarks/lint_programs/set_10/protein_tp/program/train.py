import argparse

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from dist_env import init_env
from model import ProteinEncoder

VOCAB, SEQ, CLASSES = 20, 24, 3


def synthetic_proteins(n):
    g = torch.Generator().manual_seed(8)
    ids = torch.randint(0, VOCAB, (n, SEQ), generator=g)
    return TensorDataset(ids, (ids < 7).sum(1).sub(6).clamp(0, 4) // 2)


@torch.no_grad()
def sync_replicas(model, env):
    """The data-parallel copies of a shard start from the first copy."""
    for p in model.parameters():
        dist.broadcast(p.data, src=env.tp_rank, group=env.dp_group)


@torch.no_grad()
def average_gradients(model, env):
    for p in model.parameters():
        dist.all_reduce(p.grad, group=env.dp_group)
        p.grad /= env.dp_size


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--tp", type=int, default=2)
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--dim", type=int, default=32)
    ap.add_argument("--heads", type=int, default=4)
    ap.add_argument("--layers", type=int, default=2)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--out", default="protein_tp{}.pt")
    args = ap.parse_args()

    env = init_env(args.tp, args.seed)
    ds = synthetic_proteins(256)
    # ranks of one tensor-parallel group read the same batches
    sampler = DistributedSampler(ds, env.dp_size, env.dp_rank, shuffle=True, drop_last=True)
    loader = DataLoader(ds, args.batch_size, sampler=sampler, drop_last=True)

    model = ProteinEncoder(VOCAB, args.dim, args.heads, args.layers, CLASSES, env).to(env.device)
    sync_replicas(model, env)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros(2, device=env.device)
        for ids, y in loader:
            loss = F.cross_entropy(model(ids.to(env.device)), y.to(env.device))
            optimizer.zero_grad()
            loss.backward()
            average_gradients(model, env)
            optimizer.step()
            total[0] += loss.detach()
            total[1] += 1
        dist.all_reduce(total, group=env.dp_group)
        if env.rank == 0:
            print(f"epoch {epoch} loss {(total[0] / total[1]).item():.4f}", flush=True)

    if env.dp_rank == 0:
        torch.save(model.state_dict(), args.out.format(env.tp_rank))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
