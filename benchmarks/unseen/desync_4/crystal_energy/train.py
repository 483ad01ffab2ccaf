from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from crystals import Crystals
from fitting import Fitter
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


@dataclass(frozen=True)
class Run:
    size: int = 8000
    batch_size: int = 4
    rate: float = 2e-3
    hard: float = 100.0
    unrelaxed: list = field(default_factory=lambda: [2613])


def main():
    run = Run()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(3)
    data = Crystals(run.size, run.unrelaxed)
    sampler = DistributedSampler(data, shuffle=False)
    loader = DataLoader(data, batch_size=run.batch_size, sampler=sampler)
    network = nn.Sequential(nn.Linear(40, 80), nn.SiLU(), nn.Linear(80, 80), nn.SiLU(), nn.Linear(80, 1))
    fitter = Fitter(network, loader, run.rate, run.hard)
    fitter.fit()
    error = fitter.close()
    if dist.get_rank() == 0:
        print(f"error {error:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
