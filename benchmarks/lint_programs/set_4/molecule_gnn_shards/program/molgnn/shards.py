"""Shard files: each holds a list of dicts with node features, adjacency and energy."""
import json
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset


def write_synthetic(root, n_shards):
    root = Path(root)
    root.mkdir(parents=True, exist_ok=True)
    g = torch.Generator().manual_seed(5)
    sizes = {}
    for s in range(n_shards):
        count = int(torch.randint(20, 60, (1,), generator=g))
        graphs = []
        for _ in range(count):
            n = int(torch.randint(4, 10, (1,), generator=g))
            adj = (torch.rand(n, n, generator=g) < 0.4).float().triu(1)
            adj = adj + adj.T
            x = torch.nn.functional.one_hot(torch.randint(0, 4, (n,), generator=g), 4).float()
            graphs.append({"x": x, "adj": adj, "energy": adj.sum() * 0.1 + x[:, 0].sum()})
        name = f"shard_{s:04d}.pt"
        torch.save(graphs, root / name)
        sizes[name] = count
    (root / "index.json").write_text(json.dumps(sizes))


class ShardDataset(Dataset):
    def __init__(self, root, rank, world):
        root = Path(root)
        names = sorted(json.loads((root / "index.json").read_text()))
        self.graphs = []
        for name in names[rank::world]:
            self.graphs.extend(torch.load(root / name))

    def __len__(self):
        return len(self.graphs)

    def __getitem__(self, i):
        return self.graphs[i]


def collate(graphs):
    n = max(g["x"].shape[0] for g in graphs)
    x = torch.zeros(len(graphs), n, graphs[0]["x"].shape[1])
    adj, mask = torch.zeros(len(graphs), n, n), torch.zeros(len(graphs), n)
    for i, g in enumerate(graphs):
        k = g["x"].shape[0]
        x[i, :k], adj[i, :k, :k], mask[i, :k] = g["x"], g["adj"], 1.0
    return x, adj, mask, torch.stack([g["energy"] for g in graphs])


class ShardLoader:
    """Shuffled batches over this rank's shards."""

    def __init__(self, root, batch_size, seed):
        rank, world = dist.get_rank(), dist.get_world_size()
        dataset = ShardDataset(root, rank, world)
        generator = torch.Generator().manual_seed(seed + rank)
        self.loader = DataLoader(dataset, batch_size, shuffle=True, drop_last=True, collate_fn=collate,
                                 generator=generator)
        self.steps = len(self.loader)

    def __len__(self):
        return self.steps

    def __iter__(self):
        for i, batch in enumerate(self.loader):
            if i == self.steps:
                return
            yield batch
