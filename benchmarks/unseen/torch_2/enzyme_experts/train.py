"""Turnover numbers of enzymes: mixture of experts by EC class, sharded with fully_shard."""
import argparse
import itertools
import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from experts import EnzymeNet


def enzyme_batches(rank, size=12):
    """Shards of the database are sorted by submitter; shard 2 holds a long run of one submitter's kinases."""
    gen = torch.Generator().manual_seed(50 + rank)
    for k in itertools.count():
        seq = torch.randint(21, (size, 30), generator=gen)
        ec = torch.arange(size)[torch.randperm(size, generator=gen)] % 6 + 1
        if rank == 2 and k in range(31, 36):
            ec = torch.where(ec % 4 == 3, torch.full_like(ec, 2), ec)
        yield seq, ec, torch.log1p(seq.float().mean(1))


def shard(model, mesh):
    for expert in model.router.experts:
        fully_shard(expert, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def main():
    cli = argparse.ArgumentParser()
    cli.add_argument("--steps", type=int, default=120)
    cli.add_argument("--lr", type=float, default=2e-3)
    args = cli.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(11)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = EnzymeNet()
    shard(model, mesh)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    data = enzyme_batches(dist.get_rank())
    for step, (seq, ec, kcat) in zip(range(args.steps), data):
        pred = model(seq, ec)
        loss = (pred - kcat).pow(2).mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        time.sleep(0.03)
        if dist.get_rank() == 0 and step % 15 == 0:
            print(f"step {step}: mse {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
