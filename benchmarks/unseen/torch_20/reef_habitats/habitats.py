"""A network with one head for each habitat; heads are made when a survey meets the habitat for the first time."""
import torch
from torch import nn

# which process keeps the reference head of a habitat
KEEPER = {"lagoon": 0, "crest": 1, "slope": 2}


class HabitatNet(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.width = width
        self.trunk = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.heads = nn.ModuleDict()

    def head(self, habitat):
        """The head of a habitat; a new one begins with the same weights on every boat."""
        if habitat not in self.heads:
            torch.manual_seed(sum(map(ord, habitat)))
            self.heads[habitat] = nn.Linear(self.width, 1)
        return self.heads[habitat]

    def forward(self, x, habitat):
        """Cover of the transects of a batch, all of one habitat."""
        head = self.head(habitat)
        return head(self.trunk(x)).squeeze(1)


def flatten(module):
    """A copy of all parameters in one row."""
    return torch.cat([parameter.detach().reshape(-1) for parameter in module.parameters()])


@torch.no_grad()
def load_flat(module, flat):
    """The inverse of flatten()."""
    offset = 0
    for parameter in module.parameters():
        parameter.copy_(flat[offset : offset + parameter.numel()].view_as(parameter))
        offset += parameter.numel()
