"""Masked-residue model for short protein motifs."""
import time

import torch
import torch.distributed as dist
from torch import nn

from parallel import Grid, Telemetry

RESIDUES, MASK = 20, 20


class FeedForward(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class MotifModel(nn.Module):
    def __init__(self, d=16, layers=2):
        super().__init__()
        self.residue = nn.Embedding(RESIDUES + 1, d)
        self.mix = nn.Conv1d(d, d, 3, padding=1)
        self.layers = nn.ModuleList(FeedForward(d) for _ in range(layers))
        self.out = nn.Linear(d, RESIDUES)

    def forward(self, ids):
        h = self.residue(ids)
        h = h + self.mix(h.transpose(1, 2)).transpose(1, 2)
        for layer in self.layers:
            h = layer(h)
        return self.out(h)


def motifs(seed, count, batch=8, length=12):
    g = torch.Generator().manual_seed(seed)
    for _ in range(count):
        ids = torch.randint(0, RESIDUES, (batch, length), generator=g)
        hidden = torch.rand(batch, length, generator=g) < 0.2
        hidden[:, 0] = True
        yield ids, hidden


def train(grid, steps, hooks):
    torch.manual_seed(0)
    model = MotifModel()
    for layer in model.layers:
        grid.split(layer)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    for step, (ids, hidden) in enumerate(motifs(grid.replica, steps), start=1):
        logits = model(ids.masked_fill(hidden, MASK))
        loss = nn.functional.cross_entropy(logits[hidden], ids[hidden])
        optimizer.zero_grad()
        loss.backward()
        grid.average(model)
        optimizer.step()
        time.sleep(0.02)
        for hook in hooks:
            hook(step, model)
    return loss.item()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    grid = Grid(replicas=dist.get_world_size() // 2, shards=2)
    train(grid, steps=60, hooks=[Telemetry(every=20)])
    dist.barrier()
    dist.destroy_process_group()
