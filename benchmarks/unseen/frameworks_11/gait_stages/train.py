"""Gait phases from inertial sensors: a network in three pipeline stages, GPipe schedule, CPU."""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

from progress import Progress

WIDTH = 192
MICROBATCHES = 4


def stage_module(number: int, stages: int) -> nn.Module:
    middle = [nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH), nn.GELU()]
    if number == 0:
        return nn.Sequential(nn.Linear(48, WIDTH), nn.GELU(), *middle)
    if number == stages - 1:
        return nn.Sequential(*middle, nn.Linear(WIDTH, 4))
    return nn.Sequential(*middle)


class Strides:
    """Windows of the sensors and their phase; the same on every stage, which needs only one of the two."""

    def __init__(self, batch: int):
        self.batch = batch
        self.centres = torch.randn(4, 48, generator=torch.Generator().manual_seed(1))
        self.generator = torch.Generator().manual_seed(2)

    def __next__(self):
        phase = torch.randint(0, 4, (self.batch,), generator=self.generator)
        return self.centres[phase] + 0.6 * torch.randn(self.batch, 48, generator=self.generator), phase

    def __iter__(self):
        return self


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, stages = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    module = stage_module(rank, stages)
    stage = PipelineStage(module, rank, stages, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, MICROBATCHES, loss_fn=nn.functional.cross_entropy)
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-4)
    progress = Progress(target=0.1, window=10)

    for step, (window, phase) in zip(range(1500), Strides(batch=32)):
        losses = []
        if rank == 0:
            schedule.step(window)
        elif rank == stages - 1:
            schedule.step(target=phase, losses=losses)
        else:
            schedule.step()
        optimizer.step()
        optimizer.zero_grad()
        progress.note(losses)
        if progress.reached:
            print(f"stage {rank}: enough after {step + 1} steps", flush=True)
            break
    norms = [None] * stages
    dist.all_gather_object(norms, sum(p.norm().item() for p in module.parameters()))
    if rank == 0:
        print("norms of the stages:", norms)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
