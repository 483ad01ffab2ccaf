"""Which kiln made the plate? Three pipeline stages.   torchrun --standalone --nproc-per-node 3 train.py"""
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist

from album import write_album
from marks import Marks
from stages import build_stage, make_schedule

STEPS, BATCH, MICRO = 120, 12, 4


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(10 + rank)
    module = build_stage(rank, world)
    schedule = make_schedule(module, rank, world, MICRO)
    optimizer = torch.optim.Adam(module.parameters(), lr=3e-3)
    history = []

    with tempfile.TemporaryDirectory() as folder:
        # every stage draws the same batches, the first needs the images and the last the kilns
        for step, (image, kiln) in enumerate(Marks(STEPS, BATCH)):
            optimizer.zero_grad()
            if rank == 0:
                schedule.step(image)
            elif rank == world - 1:
                losses = []
                schedule.step(target=kiln, losses=losses)
                history.append(torch.stack(losses).mean().item())
            else:
                schedule.step()
            optimizer.step()
            if rank == world - 1 and step % 60 == 59:
                print(f"step {step} loss {history[-1]:.3f}, writing the album", flush=True)
                write_album(Path(folder) / f"album_{step}.jsonl", history)
            if rank == 1 and step == 80:
                time.sleep(3)          # the middle box throttles when it gets warm
    dist.barrier()
    if rank == world - 1:
        print("done", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
