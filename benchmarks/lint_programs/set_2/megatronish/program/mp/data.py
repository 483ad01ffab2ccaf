import numpy as np
import torch
import torch.distributed as dist

from mp import state


def batches(path, batch, dim, steps, seed, device):
    """Only the first rank of a tensor group reads; the rest get the batch from it."""
    s = state.get()
    table = rng = None
    if s.tp_rank == 0:
        table = np.load(path, mmap_mode="r")
        rng = np.random.default_rng([seed, s.dp_rank])
    for _ in range(steps):
        if table is not None:
            rows = np.sort(rng.integers(0, len(table), batch))
            buf = torch.from_numpy(np.ascontiguousarray(table[rows], dtype=np.float32)).to(device)
        else:
            buf = torch.empty(batch, dim + 1, device=device)
        dist.broadcast(buf, src=s.tp_src, group=s.tp_group)
        yield buf[:, :dim], buf[:, dim]
