"""The citation graph and its propagated features (as in SIGN: X, AX, A²X, …)."""
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist


def read_graph(nodes, degree, features, classes, seed):
    gen = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (nodes,), generator=gen)
    centres = torch.randn(classes, features, generator=gen)
    x = centres[labels] + 2.0 * torch.randn(nodes, features, generator=gen)
    source = torch.arange(nodes).repeat_interleave(degree)
    order = labels.argsort()
    place = torch.empty_like(order)
    place[order] = torch.arange(nodes)
    jump = torch.randint(1, nodes // classes, (source.numel(),), generator=gen)
    target = order[(place[source] + jump) % nodes]
    return x, labels, torch.stack([torch.cat([source, target]), torch.cat([target, source])])


def propagate(x, edges, hops):
    n = x.size(0)
    weight = 1.0 / torch.bincount(edges[0], minlength=n).clamp_min(1)[edges[0]].float()
    adjacency = torch.sparse_coo_tensor(edges, weight, (n, n)).coalesce()
    layers = [x]
    for _ in range(hops):
        layers.append(torch.sparse.mm(adjacency, layers[-1]))
    return torch.cat(layers, dim=1)


def propagated(cfg, x, edges, seed):
    """Features after `hops` rounds; worked out once and kept on the shared disk."""
    folder = Path(cfg["cache_dir"])
    path = folder / f"hops{cfg['hops']}_seed{seed}.pt"
    time.sleep(cfg["stagger_s"] * dist.get_rank())
    if not path.exists():
        if dist.get_rank() == 0:
            folder.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            torch.save(propagate(x, edges, cfg["hops"]), part)
            os.replace(part, path)
        dist.barrier()
    return torch.load(path, weights_only=True)
