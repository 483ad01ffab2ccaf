"""Customer churn on tabular data with DeepSpeed; the serving file is exported after each phase."""
import os
import tempfile
import time
from contextlib import contextmanager

import deepspeed
import torch
import torch.distributed as dist
from torch import nn


@contextmanager
def first_rank_writes():
    """The body is for all ranks, but nobody leaves before the first rank has."""
    try:
        yield dist.get_rank() == 0
    finally:
        dist.barrier()


def export(module, path, pieces, pause):
    """The feature store takes small objects only, and not many at a time."""
    payload = b"".join(p.detach().numpy().tobytes() for p in module.parameters())
    payload = payload * 40
    size = len(payload) // pieces + 1
    with open(path, "wb") as out:
        for k in range(pieces):
            out.write(payload[k * size : (k + 1) * size])
            out.flush()
            os.fsync(out.fileno())
            time.sleep(pause)
    return os.path.getsize(path)


def phase(engine, steps, seed):
    g = torch.Generator().manual_seed(seed * 10 + dist.get_rank())
    for _ in range(steps):
        rows = torch.randn(16, 30, generator=g)
        churned = (rows[:, 0] + rows[:, 1] > 0).float()
        loss = nn.functional.binary_cross_entropy_with_logits(engine(rows).squeeze(-1), churned)
        engine.backward(loss)
        engine.step()
        time.sleep(0.01)
    return loss.item()


def main():
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False   # plain gloo will do
    deepspeed.init_distributed(dist_backend="gloo")
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Linear(32, 1))
    config = {
        "train_micro_batch_size_per_gpu": 16,
        "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,
        "steps_per_print": 1000,
    }
    engine, *_ = deepspeed.initialize(
        model=net, optimizer=torch.optim.SGD(net.parameters(), lr=0.05), config=config
    )
    folder = tempfile.mkdtemp(prefix="churn-")
    for number, pieces in enumerate((20, 100)):
        loss = phase(engine, 25, number)
        with first_rank_writes() as writer:
            if writer:
                size = export(engine.module, os.path.join(folder, f"serve-{number}.bin"), pieces, 0.15)
                print(f"phase {number} loss {loss:.3f} exported {size} bytes", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
