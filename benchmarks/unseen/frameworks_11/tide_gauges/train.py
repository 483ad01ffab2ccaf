"""Surge at tide gauges, with Accelerate: after each epoch the main process replays a storm season hour by hour."""
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

GAUGES = 12


def history(hours: int, seed: int):
    g = torch.Generator().manual_seed(seed)
    wind = torch.randn(hours, GAUGES, 2, generator=g).cumsum(0) * 0.05
    pressure = torch.randn(hours, GAUGES, 1, generator=g).cumsum(0) * 0.03
    surge = 0.5 * wind[..., :1] - 0.3 * pressure + 0.05 * torch.randn(hours, GAUGES, 1, generator=g)
    return torch.cat([wind, pressure], dim=-1).flatten(1), surge.flatten(1)


class SurgeModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.normal = nn.BatchNorm1d(GAUGES * 4)
        self.net = nn.Sequential(nn.Linear(GAUGES * 4, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, GAUGES))

    def forward(self, weather, surge):
        return surge + self.net(self.normal(torch.cat([weather, surge], dim=1)))


@torch.no_grad()
def replay_season(model, hours: int = 300):
    """Runs free from the first hour on: each hour's surge is the input of the next."""
    weather, surge = history(hours, seed=77)
    model.eval()
    level, worst = surge[:1], 0.0
    for hour in range(hours):
        level = model(weather[hour : hour + 1], level)
        worst = max(worst, (level - surge[hour]).abs().max().item())
        time.sleep(0.025)  # the plot of the hour
    model.train()
    return worst


def main():
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    set_seed(4)
    weather, surge = history(3601, seed=9)
    loader = DataLoader(TensorDataset(weather[1:], surge[:-1], surge[1:]), batch_size=16, shuffle=True, drop_last=True)
    model = SurgeModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(2):
        for forcing, before, after in loader:
            loss = nn.functional.huber_loss(model(forcing, before), after)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        accelerator.wait_for_everyone()
        if accelerator.is_main_process:
            print(f"epoch {epoch}: worst hour {replay_season(accelerator.unwrap_model(model)):.2f} m", flush=True)
        accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
