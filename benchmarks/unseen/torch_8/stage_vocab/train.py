"""Two-stage pipeline (GPipe); the last stage owns the labels."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

from stages import Back, Front, LabelTrie

VOCAB, DIM, CLASSES, BATCH, LENGTH = 120, 16, 6, 8, 10


def stage_for(rank, world):
    torch.manual_seed(rank)
    module = Front(VOCAB, DIM) if rank == 0 else Back(DIM, CLASSES)
    return module, PipelineStage(module, rank, world, torch.device("cpu"))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=40)
    ap.add_argument("--index-seconds", type=float, default=16)
    ap.add_argument("--compact-seconds", type=float, default=9)
    ap.add_argument("--microbatches", type=int, default=4)
    args = ap.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    module, stage = stage_for(rank, world)
    schedule = ScheduleGPipe(stage, n_microbatches=args.microbatches, loss_fn=nn.functional.cross_entropy)
    opt = torch.optim.Adam(module.parameters(), lr=1e-2)
    gen = torch.Generator().manual_seed(5)  # same stream on both stages
    last = rank == world - 1
    if last:
        LabelTrie(3000, args.index_seconds)

    for step in range(args.steps):
        tokens = torch.randint(0, VOCAB, (BATCH, LENGTH), generator=gen)
        target = tokens[:, 0] % CLASSES
        opt.zero_grad()
        if last:
            losses = []
            schedule.step(target=target, losses=losses)
            if step % 10 == 0:
                print(f"step {step} loss {torch.stack(losses).mean().item():.3f}", flush=True)
        else:
            schedule.step(tokens)
        opt.step()
        time.sleep(0.02)
        if step == args.steps // 2 and rank == 0:
            for _ in range(int(args.compact_seconds * 10)):  # rewrite the embedding rows in place
                with torch.no_grad():
                    module.table.weight.copy_(module.table.weight.clone())
                time.sleep(0.1)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
