import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Adapter(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.down = nn.Linear(width, width // 2)
        self.up = nn.Linear(width // 2, width)

    def forward(self, rows):
        return rows + self.up(torch.relu(self.down(rows)))


class ReportModel(nn.Module):
    """A common encoder, and an adapter for each language that the laboratories write in."""

    def __init__(self, inputs, width, languages, codes):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, width), nn.GELU(), nn.Linear(width, width))
        self.adapters = nn.ModuleList(Adapter(width) for _ in range(languages))
        self.head = nn.Linear(width, codes)

    def adapt(self, hidden, language):
        adapted = torch.zeros_like(hidden)
        for number, adapter in enumerate(self.adapters):
            rows = (language == number).nonzero().squeeze(1)
            if len(rows):
                adapted = adapted.index_copy(0, rows, adapter(hidden[rows]))
        return adapted

    def forward(self, features, language):
        return self.head(self.adapt(self.encoder(features), language))


def shard(model, mesh):
    fully_shard(model.encoder, mesh=mesh)
    for adapter in model.adapters:
        fully_shard(adapter, mesh=mesh)
    return fully_shard(model, mesh=mesh)
