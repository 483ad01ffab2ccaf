"""Predict the tones of a wind harp with a pipeline of three stages."""

import argparse
import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

from stages import Archive, Tape, WarmStart, part


def build(rank, world, args):
    torch.manual_seed(30 + rank)
    module = part(rank, world)
    if rank == 1:
        module = WarmStart(module, args.warm)
    stage = PipelineStage(module, rank, world, torch.device("cpu"))
    return module, ScheduleGPipe(stage, n_microbatches=args.micro, loss_fn=nn.MSELoss())


def step(schedule, rank, world, tone, target):
    """One step of this rank's stage; the mean loss on the last one."""
    if rank == 0:
        schedule.step(tone)
    elif rank == world - 1:
        losses = []
        schedule.step(target=target, losses=losses)
        return torch.stack(losses).mean().item()
    else:
        schedule.step()
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reels", type=int, default=4)
    parser.add_argument("--per-reel", type=int, default=25)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--micro", type=int, default=4)
    parser.add_argument("--warm", type=float, default=6.0)
    parser.add_argument("--winding", type=float, default=3.0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    module, schedule = build(rank, world, args)
    optimizer = torch.optim.Adam(module.parameters(), lr=2e-3)
    tape = Tape(args.reels, args.per_reel, args.batch, args.winding)
    path = os.path.join(tempfile.gettempdir(), f"harps_{os.getpid()}.txt")
    archive = Archive(path, seconds=5.0)
    losses = []
    # only the first stage has the reels; the last one computes the targets from the same numbers
    for number, (reel, tone, target) in enumerate(tape.play(wind=rank == 0), 1):
        optimizer.zero_grad()
        loss = step(schedule, rank, world, tone, target)
        optimizer.step()
        if loss is not None:
            losses.append(loss)
            if number % args.per_reel == 0:
                print(f"reel {reel}: {sum(losses) / len(losses):.4f}", flush=True)
                archive.add(reel, losses)
                losses = []
    reels = archive.close()
    dist.barrier()
    if reels:
        os.unlink(path)
        print(f"{reels} reels archived", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
