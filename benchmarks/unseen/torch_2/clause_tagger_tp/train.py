"""Tagging contract clauses; the feed-forward layers are split over the ranks (tensor parallel)."""
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from probes import look

VOCAB, TAGS, WIDTH = 120, 9, 24


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x)))


class ClauseTagger(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.words = nn.Embedding(VOCAB, WIDTH)
        self.layers = nn.ModuleList(FeedForward() for _ in range(layers))
        self.tag = nn.Linear(WIDTH, TAGS)

    def forward(self, tokens):
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.tag(x)


def split(model, mesh):
    for layer in model.layers:
        parallelize_module(layer, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return model


def contracts(batch=6, length=16):
    # the ranks work on the same batch
    gen = torch.Generator().manual_seed(2024)
    while True:
        tokens = torch.randint(VOCAB, (batch, length), generator=gen)
        yield tokens, tokens % TAGS


def main(steps=130):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("tp",))
    torch.manual_seed(1)
    model = split(ClauseTagger(), mesh)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, foreach=False)
    for step, (tokens, tags) in zip(range(steps), contracts()):
        logits = model(tokens)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tags.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        look(model, loss.detach(), step)
        time.sleep(0.03)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
