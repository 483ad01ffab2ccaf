"""Heading of a ship from ten fluxgate readings: a pipeline of three stages with GPipe."""
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

from calibration import Report
from stages import READINGS, build

CHUNKS = 4
ROWS = 16


def readings(random):
    heading = torch.rand(ROWS, generator=random) * 6.283
    offsets = torch.linspace(0, 6.283, READINGS)
    x = torch.cos(heading[:, None] + offsets) + 0.1 * torch.randn(ROWS, READINGS, generator=random)
    return x, torch.stack([heading.cos(), heading.sin()], 1)


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    module = build(rank)
    stage = PipelineStage(module, rank, size, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, n_microbatches=CHUNKS, loss_fn=nn.functional.mse_loss)
    optimizer = torch.optim.Adam(module.parameters(), lr=3e-3)
    random = torch.Generator().manual_seed(8)          # the same on all ranks

    with tempfile.TemporaryDirectory() as folder:
        report = Report(folder, writer=size - 1)
        for number in range(2):
            history = []
            for step in range(60):
                x, y = readings(random)
                optimizer.zero_grad()
                if rank == 0:
                    schedule.step(x)
                elif rank == size - 1:
                    losses = []
                    schedule.step(target=y, losses=losses)
                    history.append(torch.stack(losses).mean().item())
                else:
                    schedule.step()
                optimizer.step()
            mean = report.round(number, history)
            if rank == 0:
                print(f"round {number}: {mean:.4f}", flush=True)
        report.farewell()
    dist.destroy_process_group()
    if rank == 1:
        time.sleep(3)        # lets the compass settle before the rig is switched off


if __name__ == "__main__":
    main()
