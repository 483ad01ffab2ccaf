"""Vibrations after blasts in a quarry; the layers of the model are split over the processes."""
import argparse
import logging
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from checkpoints import Archive

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("quarry")
DRILL = "import sys, time; time.sleep(4.0); print(round(float(sys.argv[1]) * 1.8, 4))"


class Damping(nn.Module):
    def __init__(self, inputs=20, width=48):
        super().__init__()
        self.up = nn.Linear(inputs, width)
        self.down = nn.Linear(width, 1)

    def forward(self, blast):
        return self.down(torch.tanh(self.up(blast))).squeeze(-1)


def split(model, mesh):
    return parallelize_module(model, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})


def blasts(count, batch, seed=42):
    """The same batches on all processes, as each has only a part of every layer."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randn(20, generator=generator)
    for _ in range(count):
        blast = torch.randn(batch, 20, generator=generator)
        yield blast, (blast @ weights).sin()


def limit_of(loss):
    """The limit for the next blasts, by the program of the quarry's surveyors."""
    run = subprocess.run([sys.executable, "-c", DRILL, str(loss)], capture_output=True, text=True, check=True)
    return float(run.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=90)
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--save-every", type=int, default=30)
    parser.add_argument("--tape-seconds", type=float, default=2.5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = split(Damping(), init_device_mesh("cpu", (world,)))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, foreach=False)
    archive = Archive(args.tape_seconds)
    for step, (blast, vibration) in enumerate(blasts(args.steps, args.batch)):
        loss = nn.functional.mse_loss(model(blast), vibration)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
        if (step + 1) % args.save_every == 0:
            archive.save(model, step)
            limit = [limit_of(loss.item()) if rank == 0 else None]
            dist.broadcast_object_list(limit, src=0)
            log.info("step %d: loss %.4f, limit %.4f", step, loss.item(), limit[0])
    archive.finish()
    archive.load(model)
    archive.remove()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
