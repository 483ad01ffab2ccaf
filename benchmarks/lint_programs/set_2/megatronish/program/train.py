import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn

from mp import state
from mp.data import batches
from mp.layers import ParallelMLP


class Regressor(nn.Module):
    def __init__(self, features, dim, depth):
        super().__init__()
        self.inp = nn.Linear(features, dim)
        self.layers = nn.Sequential(*[ParallelMLP(dim, 4 * dim) for _ in range(depth)])
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        return self.out(self.layers(self.inp(x))).squeeze(-1)


def average_grads(model):
    s = state.get()
    if s.dp_size == 1:
        return
    for p in model.parameters():
        dist.all_reduce(p.grad, group=s.dp_group)
        p.grad /= s.dp_size


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--table", default="table.npy")
    ap.add_argument("--features", type=int, default=256)
    ap.add_argument("--dim", type=int, default=4096)
    ap.add_argument("--depth", type=int, default=12)
    ap.add_argument("--tp", type=int, default=4)
    ap.add_argument("--batch", type=int, default=512)
    ap.add_argument("--steps", type=int, default=30000)
    args = ap.parse_args()

    local = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    s = state.initialize(args.tp)

    torch.manual_seed(77)
    model = Regressor(args.features, args.dim, args.depth).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=1e-4)

    stream = batches(args.table, args.batch, args.features, args.steps, 77, device)
    for step, (x, y) in enumerate(stream):
        loss = nn.functional.huber_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        average_grads(model)
        opt.step()
        if step % 100 == 0:
            log = loss.detach().clone()
            dist.all_reduce(log, group=s.dp_group)
            if dist.get_rank() == 0:
                print(f"{step:6d} {log.item() / s.dp_size:.5f}", flush=True)

    if s.dp_rank == 0:
        torch.save(model.state_dict(), f"model_tp{s.tp_rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
