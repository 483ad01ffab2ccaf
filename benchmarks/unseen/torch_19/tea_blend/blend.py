"""The network: leaves are embedded, mixed by their shares and tasted by a small tower."""
import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Mix(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return x + self.dropout(self.down(torch.nn.functional.silu(self.up(self.norm(x)))))


class Taster(nn.Module):
    """Predicts the panel's five marks (body, astringency, brightness, aroma, aftertaste) of a blend."""

    marks = ("body", "astringency", "brightness", "aroma", "aftertaste")

    def __init__(self, leaves, width, depth, dropout=0.05):
        super().__init__()
        self.leaves = nn.Linear(leaves, width, bias=False)
        self.mixes = nn.ModuleList(Mix(width, dropout) for _ in range(depth))
        self.head = nn.Linear(width, len(self.marks))

    def forward(self, shares):
        x = self.leaves(shares)
        for mix in self.mixes:
            x = mix(x)
        return self.head(x)


def sharded_taster(leaves, width, depth, world):
    torch.manual_seed(11)
    model = Taster(leaves, width, depth)
    mesh = init_device_mesh("cpu", (world,))
    for mix in model.mixes:
        fully_shard(mix, mesh=mesh)
    return fully_shard(model, mesh=mesh)
