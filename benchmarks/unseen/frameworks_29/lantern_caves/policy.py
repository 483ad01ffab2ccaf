"""The policy: embedding of the cell, two residual blocks, each of them sharded on its own."""
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard

from caves import MOVES, SIZE


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Policy(nn.Module):
    def __init__(self, width=36):
        super().__init__()
        self.cell = nn.Embedding(SIZE * SIZE, width)
        self.blocks = nn.Sequential(Block(width), Block(width))
        self.moves = nn.Linear(width, MOVES)

    def forward(self, cells):
        return self.moves(self.blocks(self.cell(cells)))


def sharded_policy(mesh):
    torch.manual_seed(0)
    policy = Policy()
    for block in policy.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(policy, mesh=mesh)
