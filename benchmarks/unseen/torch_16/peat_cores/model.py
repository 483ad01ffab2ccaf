"""A small transformer over the layers of a peat core, sharded block by block."""
import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm_a = nn.LayerNorm(width)
        self.attend = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm_b = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 3 * width), nn.GELU(), nn.Linear(3 * width, width))

    def forward(self, x):
        h = self.norm_a(x)
        x = x + self.attend(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm_b(x))


class CoreDater(nn.Module):
    """Age of every layer from its pollen, ash and density."""

    def __init__(self, proxies, width=48, heads=4, depth=3, layers=24):
        super().__init__()
        self.embed = nn.Linear(proxies, width)
        self.depth = nn.Parameter(torch.zeros(layers, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.age = nn.Linear(width, 1)

    def forward(self, proxies):
        x = self.embed(proxies) + self.depth
        for block in self.blocks:
            x = block(x)
        return self.age(x).squeeze(-1)


def sharded(proxies, world):
    torch.manual_seed(11)
    model = CoreDater(proxies)
    mesh = init_device_mesh("cpu", (world,))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model
