"""Bird songs through a pipeline of three processes: spectrogram, body, species."""
import argparse
import logging

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.nn.functional import cross_entropy

from stages import build

log = logging.getLogger("birdsong")


def recordings(steps, batch):
    """Clips of the night recorders. Every process can read them; the seed makes them the same."""
    g = torch.Generator().manual_seed(2024)
    for step in range(steps):
        clips = torch.randn(batch, 64, generator=g)
        species = torch.randint(0, 9, (batch,), generator=g)
        if step == 19:
            clips = clips * 1e-5  # a recorder with a flat battery
        yield clips, species


def first_stage(schedule, optimizer, data, floor):
    for step, (clips, _) in enumerate(data):
        if clips.abs().max() < floor:
            log.info("step %d: silence", step)
            continue
        schedule.step(clips)
        optimizer.step()
        optimizer.zero_grad()


def middle_stage(schedule, optimizer, data):
    for _ in data:
        schedule.step()
        optimizer.step()
        optimizer.zero_grad()


def last_stage(schedule, optimizer, data):
    for step, (_, species) in enumerate(data):
        losses = []
        schedule.step(target=species, losses=losses)
        optimizer.step()
        optimizer.zero_grad()
        if step % 8 == 0:
            log.info("step %d: loss %.4f", step, torch.stack(losses).mean().item())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--chunks", type=int, default=4)
    parser.add_argument("--silence", type=float, default=1e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    module = build(rank)
    stage = PipelineStage(module, rank, world, torch.device("cpu"))
    schedule = Schedule1F1B(stage, n_microbatches=args.chunks, loss_fn=cross_entropy)
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-3)
    data = recordings(args.steps, args.batch)

    if rank == 0:
        first_stage(schedule, optimizer, data, args.silence)
    elif rank == world - 1:
        last_stage(schedule, optimizer, data)
    else:
        middle_stage(schedule, optimizer, data)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
