"""Stellar parameters (Teff, log g, [Fe/H]) from spectra, sharded with FSDP2."""
import argparse
import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard

from experts import SpectrumModel


def shard(model, world):
    dense = init_device_mesh("cpu", (world,))
    # the blocks get a communicator of their own, so their traffic can overlap
    side = DeviceMesh.from_group(dist.new_group(), "cpu")
    for block in model.experts.blocks:
        fully_shard(block, mesh=side)
    fully_shard(model.stem, mesh=dense)
    fully_shard(model.head, mesh=dense)
    return fully_shard(model, mesh=dense)


class Fibre:
    """Spectra of one plate, in the order in which they were taken."""

    def __init__(self, plate, size):
        self.plate, self.size = plate, size
        self.g = torch.Generator().manual_seed(900 + plate)

    def classes(self, exposure):
        mix = torch.arange(self.size) % 4
        if self.plate == 2 and exposure == 28:
            mix[mix == 3] = 1
        return mix

    def exposures(self, n):
        for exposure in range(n):
            spectrum = torch.rand(self.size, 40, generator=self.g)
            yield spectrum, self.classes(exposure), spectrum[:, :3] * 2 - 1


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--exposures", type=int, default=60)
    ap.add_argument("--size", type=int, default=12)
    args = ap.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = shard(SpectrumModel(), world)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, foreach=False)
    for number, (spectrum, kind, target) in enumerate(Fibre(rank, args.size).exposures(args.exposures)):
        loss = (model(spectrum, kind) - target).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0 and number % 10 == 0:
            print(f"{number:3d} {loss.item():.4f}", flush=True)
        time.sleep(0.02)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
