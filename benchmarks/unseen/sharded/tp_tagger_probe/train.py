import argparse
import logging
import tempfile
import time

import torch
import torch.nn as nn
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from probe import ProbeTeam

FEATURES, HIDDEN, CLASSES = 16, 32, 4
PROBE_RANKS = (2, 3)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Linear(FEATURES, HIDDEN)
        self.w2 = nn.Linear(HIDDEN, FEATURES)
        self.head = nn.Linear(FEATURES, CLASSES)

    def features(self, x):
        return x + self.w2(torch.relu(self.w1(x)))

    def forward(self, x):
        return self.head(self.features(x))


def sample(g, n=16):
    x = torch.randn(n, FEATURES, generator=g)
    return x, x[:, :CLASSES].argmax(1)


def reduce_over(group, params):
    for p in params:
        g = p.grad.to_local() if isinstance(p.grad, DTensor) else p.grad
        dist.all_reduce(g, group=group)


def checkpoint(model, where):
    """Checkpoint traffic gets a group of its own, apart from the training's."""
    group = dist.new_group(backend="gloo")
    dcp.save({"model": model.state_dict()}, checkpoint_id=where, process_group=group)
    dist.destroy_process_group(group)


def main(cli):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    dp_group = mesh.get_group("dp")
    torch.manual_seed(0)
    model = parallelize_module(Tagger(), mesh["tp"], {"w1": ColwiseParallel(), "w2": RowwiseParallel()})
    optim = torch.optim.SGD(model.parameters(), lr=0.05)
    team = ProbeTeam(PROBE_RANKS, FEATURES, CLASSES)
    where = [tempfile.mkdtemp(prefix="tagger-") if rank == 0 else None]
    dist.broadcast_object_list(where, src=0)

    g = torch.Generator().manual_seed(mesh.get_local_rank("dp"))
    probe_set = sample(torch.Generator().manual_seed(77), 64)
    for step in range(1, cli.steps + 1):
        x, y = sample(g)
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        reduce_over(dp_group, model.parameters())
        optim.step()
        optim.zero_grad()
        time.sleep(0.02)

        if step % cli.probe_every == 0 and rank in PROBE_RANKS:
            with torch.no_grad():
                hidden = model.features(probe_set[0])
            logging.info("step %d probe accuracy %.3f", step, team.accuracy(hidden, probe_set[1]))
        if step % cli.save_every == 0:
            checkpoint(model, f"{where[0]}/step-{step}")

    dist.destroy_process_group()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=160)
    ap.add_argument("--probe-every", type=int, default=20)
    ap.add_argument("--save-every", type=int, default=45)
    main(ap.parse_args())
