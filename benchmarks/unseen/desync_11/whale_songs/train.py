"""Counts singing whales; sharded training with a buoy for each process."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from evaluation import Evaluation
from hydrophone import BINS, Hydrophone, Repeating


def counter(width=48):
    return nn.Sequential(
        nn.Linear(BINS, width),
        nn.GELU(),
        nn.Linear(width, width),
        nn.GELU(),
        nn.Linear(width, 1),
    )


def shard(model, mesh):
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=440)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--evaluate-every", type=int, default=110)
    args = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(8)
    plain = counter()
    evaluate = Evaluation(plain, BINS, rank)
    model = shard(plain, init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    batches = Repeating(Hydrophone(rank, args.minutes))
    smooth = None
    for minute, spectra, singers in batches:
        loss = nn.functional.l1_loss(model(spectra).squeeze(1), singers)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        smooth = loss.item() if smooth is None else 0.98 * smooth + 0.02 * loss.item()
        if (minute + 1) % args.evaluate_every == 0:
            if rank == 0:
                print(f"minute {minute + 1}: {smooth:.3f}", flush=True)
            evaluate(model)

    dist.barrier()
    print(f"buoy {rank}: {batches.repeated} batches repeated")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
