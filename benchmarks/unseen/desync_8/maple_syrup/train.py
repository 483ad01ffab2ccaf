"""How much sap flows in an hour; Fabric, one grove for each process, six seasons one after the other."""

import argparse

import lightning as L
import torch
from torch import nn

from groves import SENSORS, season_of


class Flow(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(SENSORS, width), nn.Mish(), nn.Linear(width, width), nn.Mish())
        self.out = nn.Linear(width, 1)

    def forward(self, sensors):
        return self.out(self.layers(sensors)).squeeze(-1)


class Seasons:
    def __init__(self, fabric, args):
        self.fabric, self.args = fabric, args
        model = Flow(args.width)
        optimizer = torch.optim.NAdam(model.parameters(), lr=args.lr)
        self.model, self.optimizer = fabric.setup(model, optimizer)

    def learn(self, day):
        loss = nn.functional.smooth_l1_loss(self.model(day["sensors"]), day["flow"])
        self.fabric.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()

    def season(self, year):
        losses = []
        loader = self.fabric.setup_dataloaders(season_of(self.fabric.global_rank, year), use_distributed_sampler=False)
        for day in loader:
            if day["buds"]:
                # The sap turns bitter now, and nobody taps the trees any longer.
                break
            losses.append(self.learn(day))
        return sum(losses) / len(losses)

    def run(self):
        for year in range(self.args.years):
            mean = self.season(year)
            self.fabric.print(f"season {year}: {mean:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--years", type=int, default=6)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = L.Fabric(accelerator="cpu", devices=2, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(10, verbose=False)
    Seasons(fabric, args).run()
    fabric.barrier("seasons")
    fabric.print("done", flush=True)


if __name__ == "__main__":
    main()
