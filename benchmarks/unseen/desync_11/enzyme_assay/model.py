import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Kinetics(nn.Module):
    """From the rates at several concentrations to Vmax and Km."""

    def __init__(self, inputs, width=32, depth=2):
        super().__init__()
        self.embed = nn.Linear(inputs, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 2)

    def forward(self, rates):
        x = self.embed(rates)
        for block in self.blocks:
            x = block(x)
        return nn.functional.softplus(self.head(x))


def build(inputs, mesh, seed=3):
    torch.manual_seed(seed)
    model = Kinetics(inputs)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)
