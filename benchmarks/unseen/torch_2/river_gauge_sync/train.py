import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from hooks import default_hooks

BASINS = ["upper", "middle", "delta", "estuary"]
MAINTENANCE = {"delta": range(21, 25)}     # steps in which the gauge is levelled


def level_series(basin, steps):
    g = torch.Generator().manual_seed(BASINS.index(basin))
    return torch.cumsum(0.1 * torch.randn(steps + 12, generator=g), 0)


class GaugeTrainer:
    def __init__(self, basin, steps=120):
        self.basin, self.steps = basin, steps
        self.series = level_series(basin, steps)
        self.model = DDP(nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1)))
        self.opt = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.hooks = default_hooks()
        self.parked = None
        self.state = {"datum": torch.zeros(1), "level": torch.zeros(1), "residual": torch.zeros(1), "network": 0.0}

    def maintenance(self, step):
        """While its gauge is being levelled a basin keeps its own datum."""
        window = MAINTENANCE.get(self.basin, ())
        if step in window and self.parked is None:
            self.parked = self.hooks.remove("datum")
        elif step not in window and self.parked is not None:
            self.hooks.restore("datum", self.parked)
            self.parked = None

    def step(self, i):
        x = self.series[i:i + 12] - self.state["datum"]
        pred = self.model(x[None].repeat(4, 1))
        loss = (pred - self.series[i + 11]).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.state["level"].copy_(self.series[i + 11:i + 12])
        self.state["residual"].fill_(loss.item())

    def fit(self):
        for i in range(1, self.steps):
            self.maintenance(i)
            self.step(i)
            self.hooks.fire(i, self.state)
            time.sleep(0.03)
            if i % 20 == 0 and self.basin == "upper":
                print(f"{i}: network level {float(self.state['network']):+.2f}", flush=True)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    GaugeTrainer(BASINS[dist.get_rank()]).fit()
    dist.barrier()
    dist.destroy_process_group()


main()
