import torch


class CSRGraph:
    def __init__(self, num_nodes, degree, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.num_nodes = num_nodes
        self.indptr = torch.arange(0, num_nodes * degree + 1, degree)
        self.indices = torch.randint(0, num_nodes, (num_nodes * degree,), generator=g)
        self.feat = torch.randn(num_nodes, 16, generator=g)
        self.label = (self.feat[:, 0] > 0).long()
        # accounts registered by the crawler itself carry no label
        self.labelled = torch.ones(num_nodes, dtype=torch.bool)
        self.labelled[304:312] = False

    def in_neighbours(self, nodes):
        return torch.stack([self.indices[self.indptr[n]:self.indptr[n + 1]] for n in nodes])


class Block:
    __slots__ = ("seeds", "x_dst", "x_src", "y")

    def __init__(self, seeds, x_dst, x_src, y):
        self.seeds, self.x_dst, self.x_src, self.y = seeds, x_dst, x_src, y


class PartitionSampler:
    """Walks over the nodes of one partition in contiguous chunks of seeds."""

    def __init__(self, graph, rank, world, batch_size):
        part = graph.num_nodes // world
        self.graph = graph
        self.nodes = torch.arange(rank * part, (rank + 1) * part)
        self.batch_size = batch_size

    def __len__(self):
        return len(self.nodes) // self.batch_size

    def __iter__(self):
        for i in range(len(self)):
            seeds = self.nodes[i * self.batch_size:(i + 1) * self.batch_size]
            seeds = seeds[self.graph.labelled[seeds]]
            yield self.make_block(seeds)

    def make_block(self, seeds):
        if seeds.numel() == 0:
            return None
        g = self.graph
        return Block(seeds, g.feat[seeds], g.feat[g.in_neighbours(seeds)], g.label[seeds])
