import argparse
import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from exporter import Exporter


class Bar(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, h):
        return h + self.mlp(self.norm(h))


class Composer(nn.Module):
    def __init__(self, notes=48, width=32, bars=3):
        super().__init__()
        self.embed = nn.Embedding(notes, width)
        self.bars = nn.ModuleList(Bar(width) for _ in range(bars))
        self.out = nn.Linear(width, notes)

    def forward(self, x):
        h = self.embed(x)
        for bar in self.bars:
            h = bar(h)
        return self.out(h)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=80)
    p.add_argument("--export-every", type=int, default=25)
    a = p.parse_args()
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    model = Composer()
    for bar in model.bars:
        fully_shard(bar, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optim = torch.optim.AdamW(model.parameters(), lr=1e-3)
    exporter = Exporter(os.path.join(tempfile.gettempdir(), "sheet_music"), a.export_every)
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(a.steps):
        notes = torch.randint(0, 48, (4, 17), generator=g)
        logits = model(notes[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), notes[:, 1:].flatten())
        loss.backward()
        optim.step()
        optim.zero_grad()
        time.sleep(0.02)
        exporter.after_step(step, model)
        if step % 10 == 0 and dist.get_rank() == 0:
            print(step, round(loss.item(), 4), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
