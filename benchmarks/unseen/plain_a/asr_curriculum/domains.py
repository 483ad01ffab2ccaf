import functools
import os
import zlib

import torch
import torch.distributed as dist


def _synthesise(name, n=96):
    g = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    y = torch.randint(6, (n,), generator=g)
    x = torch.randn(n, 16, 60, generator=g)
    x[torch.arange(n), y] += 1.5
    return x, y


@functools.lru_cache(maxsize=8)
def load_domain(root, name):
    """Features of a domain. Extracted once into `root`, whoever comes first."""
    path = os.path.join(root, name + ".pt")
    if not os.path.exists(path):
        partial = f"{path}.{os.getpid()}"
        torch.save(_synthesise(name), partial)
        os.replace(partial, path)
    dist.barrier()     # extraction is complete on every rank
    return torch.load(path)
