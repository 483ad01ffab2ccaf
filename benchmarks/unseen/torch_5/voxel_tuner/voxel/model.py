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
        return x + self.down(torch.relu(self.up(self.norm(x))))


class VoxelNet(nn.Module):
    """Flattened 4x4x4 patches in, one occupancy logit per voxel out."""

    def __init__(self, width=32, depth=3):
        super().__init__()
        self.stem = nn.Linear(64, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 64)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def build(mesh, width, depth):
    torch.manual_seed(7)
    net = VoxelNet(width, depth)
    for block in net.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(net, mesh=mesh)
