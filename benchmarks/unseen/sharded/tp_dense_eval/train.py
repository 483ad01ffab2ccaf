"""Tensor-parallel item ranker. After training, one rank evaluates a dense copy
over the whole catalogue; the leader writes the report when the group is closed."""
import os
import socket
import time

import torch
import torch.nn as nn
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

WORLD = 2
EVALUATOR = 1


class Ranker(nn.Module):
    def __init__(self, items=300, dim=16):
        super().__init__()
        self.items = nn.Embedding(items, dim)
        self.up = nn.Linear(2 * dim, 48)
        self.down = nn.Linear(48, 1)

    def forward(self, history, candidate):
        user = self.items(history).mean(1)
        pair = torch.cat([user, self.items(candidate)], dim=-1)
        return self.down(torch.relu(self.up(pair))).squeeze(-1)


def interactions(g, n=16):
    history = torch.randint(0, 300, (n, 5), generator=g)
    candidate = torch.randint(0, 300, (n,), generator=g)
    clicked = ((history[:, 0] + candidate) % 2).float()
    return history, candidate, clicked


def dense_copy(model):
    """All ranks gather the sharded weights; the result is an ordinary model."""
    weights = {
        name: p.detach().full_tensor() if isinstance(p, DTensor) else p.detach()
        for name, p in model.named_parameters()
    }
    dense = Ranker()
    dense.load_state_dict(weights)
    return dense.eval()


@torch.no_grad()
def rank_catalogue(model, users=80):
    g = torch.Generator().manual_seed(9)
    everything = torch.arange(300)
    hits = 0
    for _ in range(users):
        history, candidate, _ = interactions(g, 1)
        scores = model(history.expand(300, -1), everything)
        hits += int(candidate in scores.topk(20).indices)
        time.sleep(0.24)  # the catalogue's feature service answers one user at a time
    return hits / users


def render_report(hit_rate, history):
    lines = ["# Ranker", f"hit rate @20: {hit_rate:.3f}"]
    for epoch, value in history:
        lines.append(f"- epoch {epoch}: {value:.4f}")
        time.sleep(1.2)
    print("\n".join(lines), flush=True)


def worker(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    mesh = init_device_mesh("cpu", (WORLD,), mesh_dim_names=("tp",))
    torch.manual_seed(0)
    model = parallelize_module(Ranker(), mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    optim = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(1)

    history = []
    for epoch in range(4):
        total = 0.0
        for _ in range(15):
            past, candidate, clicked = interactions(g)
            loss = nn.functional.binary_cross_entropy_with_logits(model(past, candidate), clicked)
            loss.backward()
            optim.step()
            optim.zero_grad()
            total += loss.item()
            time.sleep(0.02)
        history.append((epoch, total / 15))

    dense = dense_copy(model)
    hit_rate = torch.zeros(1)
    if rank == EVALUATOR:
        hit_rate += rank_catalogue(dense)
    dist.broadcast(hit_rate, src=EVALUATOR)
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        render_report(hit_rate.item(), history)


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        free_port = s.getsockname()[1]
    mp.spawn(worker, args=(free_port,), nprocs=WORLD, join=True)
