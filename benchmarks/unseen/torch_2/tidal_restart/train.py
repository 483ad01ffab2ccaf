"""Tide prediction with an elastic launcher of its own; survives a lost worker by resuming from the last snapshot."""
import os
import pathlib
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.launcher.api import LaunchConfig, elastic_launch
from torch.nn.parallel import DistributedDataParallel

HARMONICS = torch.tensor([1.9323, 2.0, 1.8960, 1.0027])
TOTAL = 120


class Snapshot:
    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "snapshot.pt"

    def save(self, step, model, opt):
        tmp = self.path.with_suffix(".part")
        torch.save({"step": step, "model": model.state_dict(), "opt": opt.state_dict()}, tmp)
        os.replace(tmp, self.path)

    def load(self, model, opt):
        """Rank 0 decides where to continue, as the file belongs to it."""
        found = [None]
        if dist.get_rank() == 0 and self.path.exists():
            found[0] = torch.load(self.path, weights_only=False)
        dist.broadcast_object_list(found, src=0)
        if found[0] is None:
            return 0
        model.load_state_dict(found[0]["model"])
        opt.load_state_dict(found[0]["opt"])
        return found[0]["step"]


class FlakyGauge:
    """The pier gauge loses its serial connection once in a while."""

    def __init__(self, rank, attempt):
        self.drops_at = 47 if (rank, attempt) == (1, 0) else None
        self.gen = torch.Generator().manual_seed(rank + 10 * attempt)

    def read(self, step, n=8):
        if step == self.drops_at:
            raise ConnectionResetError("gauge /dev/ttyS3 closed the line")
        t = torch.rand(n, 1, generator=self.gen) * 48
        x = torch.cat([torch.cos(t * HARMONICS), torch.sin(t * HARMONICS)], 1)
        return x, x.sum(1, keepdim=True) / 4


def entry(folder):
    torch.set_num_threads(1)
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    snap = Snapshot(folder)
    first = snap.load(net, opt)
    ddp = DistributedDataParallel(net)
    gauge = FlakyGauge(rank, attempt)
    if rank == 0:
        print(f"attempt {attempt}: from step {first}", flush=True)
    for step in range(first, TOTAL):
        x, y = gauge.read(step)
        loss = nn.functional.mse_loss(ddp(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.12)
        if (step + 1) % 20 == 0:
            if rank == 0:
                snap.save(step + 1, net, opt)
                print(f"step {step + 1} mse {loss.item():.4f}", flush=True)
            dist.barrier()
    dist.destroy_process_group()
    return float(loss.detach())


if __name__ == "__main__":
    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=3, run_id="tide",
        rdzv_backend="c10d", rdzv_endpoint="localhost:0",
        max_restarts=2, monitor_interval=0.5, start_method="spawn",
    )
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory(prefix="tide-") as folder:
        losses = elastic_launch(config, entry)(folder)
    print("final", {r: round(v, 4) for r, v in sorted(losses.items())})
    sys.exit(0)
