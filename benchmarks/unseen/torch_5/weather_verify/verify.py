import time

import torch


def scores(module, archive):
    for season, (state, later) in archive.items():
        for _ in range(40):
            error = (module(state) - later).square().mean()
            time.sleep(0.1)
        yield season, float(error)


def verify(module, rank):
    if rank != 2:
        return {}
    gen = torch.Generator().manual_seed(1)
    archive = {s: (torch.randn(32, 12, generator=gen), torch.randn(32, 12, generator=gen))
               for s in ("DJF", "MAM", "JJA", "SON")}
    with torch.no_grad():
        return dict(scores(module, archive))
