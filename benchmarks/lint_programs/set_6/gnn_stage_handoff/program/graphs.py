import torch
from torch.utils.data import Dataset

ATOMS = 6


class Molecules(Dataset):
    """Small random graphs. Label: whether more than a third of the bonds join atoms of one kind."""

    def __init__(self, count, nodes=12, seed=0):
        self.count, self.nodes, self.seed = count, nodes, seed

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        kind = torch.randint(0, ATOMS, (self.nodes,), generator=g)
        same = (kind[:, None] == kind[None, :]).float()
        bias = 0.1 + 0.5 * torch.rand((), generator=g) * same
        upper = torch.triu((torch.rand(self.nodes, self.nodes, generator=g) < bias).float(), 1)
        adj = upper + upper.T
        label = ((adj * same).sum() > adj.sum() / 3).long()
        return kind, adj, label
