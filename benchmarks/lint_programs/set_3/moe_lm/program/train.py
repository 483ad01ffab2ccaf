import argparse

import torch
import torch.distributed as dist
import torch.nn as nn

from moe import MoeLM
from parallel import init, shard


def corpus(vocab, batch, seq, seed):
    g = torch.Generator().manual_seed(seed)
    while True:
        start = torch.randint(vocab, (batch, 1), generator=g)
        step = torch.randint(1, 5, (batch, 1), generator=g)
        yield (start + step * torch.arange(seq + 1)) % vocab


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=5000)
    ap.add_argument("--batch-size", type=int, default=4)
    ap.add_argument("--seq-len", type=int, default=32)
    ap.add_argument("--vocab", type=int, default=128)
    ap.add_argument("--experts", type=int, default=8)
    ap.add_argument("--aux", type=float, default=0.01)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--log-every", type=int, default=20)
    args = ap.parse_args()

    mesh, device = init()
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)
    model = shard(MoeLM(args.vocab, experts=args.experts).to(device), mesh)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    data = corpus(args.vocab, args.batch_size, args.seq_len, args.seed * 1009 + rank)

    for step in range(1, args.steps + 1):
        ids = next(data).to(device)
        loss, balance = model(ids[:, :-1], ids[:, 1:])
        (loss + args.aux * balance).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        if step % args.log_every == 0:
            stat = torch.stack([loss.detach(), balance.detach()])
            dist.all_reduce(stat)
            if rank == 0:
                print(f"step {step} loss {stat[0] / world:.4f} balance {stat[1] / world:.3f}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
