"""A classifier of mosses with a second look at blurred photographs."""
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


class MossNet(nn.Module):
    def __init__(self, pixels, species, width=48, depth=2):
        super().__init__()
        self.stem = nn.Linear(pixels, width)
        self.trunk = nn.Sequential(*(Block(width) for _ in range(depth)))
        self.refiner = nn.Sequential(Block(width), Block(width), Block(width))
        self.head = nn.Linear(width, species)

    def forward(self, photo, sharpness):
        features = self.trunk(self.stem(photo))
        if self.training:
            return self.head(features), self.head(self.refiner(features))
        return self.head(self.second_look(features, sharpness < 0.3))

    def second_look(self, features, blurred):
        """The refined features of the photographs that need it; the others keep theirs."""
        if blurred.any():
            features = features.clone()
            features[blurred] = self.refiner(features[blurred])
        return features


def sharded(pixels, species):
    torch.manual_seed(6)
    model = MossNet(pixels, species)
    for block in model.trunk:
        fully_shard(block)
    fully_shard(model.refiner)
    fully_shard(model)
    return model
