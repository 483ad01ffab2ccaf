import torch

NODES, DIM, CLASSES = 300, 16, 4
RELATIONS = {"viewed": 2400, "bought": 900, "rated": 300, "returned": 12}


class ShopGraph:
    """Users and goods in one graph with four kinds of edges."""

    def __init__(self, seed=2):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, CLASSES, (NODES,), generator=g)
        centre = torch.randn(CLASSES, DIM, generator=g)
        self.x = centre[self.y] + torch.randn(NODES, DIM, generator=g)
        self.edges = {r: torch.randint(0, NODES, (2, n), generator=g)
                      for r, n in RELATIONS.items()}

    def subgraph(self, nodes):
        """Edges within `nodes`, renumbered; kinds with no edge are left out."""
        index = torch.full((NODES,), -1)
        index[nodes] = torch.arange(len(nodes))
        found = {}
        for rel, e in self.edges.items():
            e = index[e]
            e = e[:, (e >= 0).all(0)]
            if e.size(1):
                found[rel] = e
        return self.x[nodes], found, self.y[nodes]


def node_batches(rank, world, size, epoch):
    g = torch.Generator().manual_seed(100 + epoch)
    perm = torch.randperm(NODES, generator=g)
    n = NODES // (world * size)
    return perm[:n * world * size].view(n, world, size)[:, rank]
