"""A surrogate of a kite turbine's power with Ray Train: each worker flies at its own site, and all learn one network."""

import argparse
import tempfile
import time

import ray
import torch
from ray import train
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model
from torch import nn

from simulator import Simulator

SECONDS = 24
SITES = (("Kvaløya", 9.0, 1.0), ("Stokksnes", 13.0, 2.6))


class Site:
    """Winds of a site, by its mean and gusts, and flights in them."""

    def __init__(self, number, simulator):
        self.name, self.mean, self.gusts = SITES[number]
        self.simulator = simulator
        self.generator = torch.Generator().manual_seed(60 + number)

    def batch(self, size):
        wind = self.mean + self.gusts * torch.randn(size, SECONDS, generator=self.generator)
        wind = wind.clamp_min(0)
        angle = 0.6 * torch.rand(size, generator=self.generator)
        power = torch.tensor([self.simulator.fly(w.tolist(), a.item()) for w, a in zip(wind, angle)])
        return torch.cat([wind / 10, angle.unsqueeze(-1)], -1), power / 10


class Surrogate(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(SECONDS + 1, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def train_site(config):
    torch.set_num_threads(1)
    torch.manual_seed(3)
    rank = train.get_context().get_world_rank()
    simulator = Simulator()
    site = Site(rank, simulator)
    model = prepare_model(Surrogate())
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    for round_number in range(config["rounds"]):
        total = 0.0
        for _ in range(config["steps"]):
            x, power = site.batch(config["batch"])
            loss = nn.functional.mse_loss(model(x), power)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            time.sleep(0.02)
        train.report({"round": round_number, "loss": total / config["steps"]})
    simulator.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    trainer = TorchTrainer(
        train_site,
        train_loop_config=vars(args),
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=ScalingConfig(num_workers=len(SITES), resources_per_worker={"CPU": 0.5}),
        run_config=RunConfig(name="kites", storage_path=tempfile.mkdtemp(prefix="kites-")),
    )
    result = trainer.fit()
    print(result.metrics, flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
