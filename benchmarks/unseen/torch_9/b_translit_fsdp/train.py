"""Transliteration of names by character windows; FSDP2, gradients accumulated over micro-batches."""
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard

from export import Exporter

LETTERS, WINDOW, TARGETS = 60, 5, 33
STEPS = 45
# seconds that a rank's script takes to normalize a micro-batch
NORMALIZE = {"cyrillic": 0.012, "greek": 0.016, "devanagari": 0.045}


class Mixer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, h):
        return h + self.down(torch.relu(self.up(self.norm(h))))


class Transliterator(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.embed = nn.Embedding(LETTERS, dim)
        self.mixers = nn.ModuleList(Mixer(dim * WINDOW) for _ in range(2))
        self.out = nn.Linear(dim * WINDOW, TARGETS)

    def forward(self, x):
        h = self.embed(x).flatten(1)
        for mixer in self.mixers:
            h = mixer(h)
        return self.out(h)


def names(seed, count):
    gen = torch.Generator().manual_seed(seed)
    x = torch.randint(0, LETTERS, (count, WINDOW), generator=gen)
    return x, (x[:, 2] * 3 + x[:, 1]) % TARGETS


def micro_batches(step):
    return 4 if step % 3 == 0 else 3


def train_step(model, opt, script, rank, step):
    count = micro_batches(step)
    losses = []
    for i in range(count):
        model.set_requires_gradient_sync(i == count - 1)
        time.sleep(NORMALIZE[script])
        x, y = names(seed=97 * step + 13 * i + rank, count=24)
        loss = nn.functional.cross_entropy(model(x), y) / count
        loss.backward()
        losses.append(loss.item())
    opt.step()
    opt.zero_grad()
    return sum(losses)


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = Transliterator()
    mesh = init_device_mesh("cpu", (world,))
    for mixer in model.mixers:
        fully_shard(mixer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.set_force_sum_reduction_for_comms(True)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    exporter = Exporter(rank, Transliterator)
    script = list(NORMALIZE)[rank]

    for step in range(STEPS):
        loss = train_step(model, opt, script, rank, step)
        if step in (STEPS // 2, STEPS - 1):
            exporter.export(model, step)
            board = [None] * world
            dist.all_gather_object(board, {"script": script, "loss": round(loss, 3)})
            if rank == 0:
                print(f"step {step}: {board}", flush=True)

    accuracy = [0.0]
    if rank == 0:
        accuracy[0] = exporter.judge(names(10_000 + i, 50) for i in range(90))
    dist.broadcast_object_list(accuracy, src=0)
    print(f"rank {rank}: accuracy {accuracy[0]:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
