"""Federated-like training: each Ray worker trains on the hospitals assigned to it."""
import os
import tempfile
import time

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
import ray.train
import ray.train.torch
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer
from torch import nn

HOSPITALS = [
    ("north", 96), ("harbour", 88), ("university", 120),
    ("east", 104), ("children", 40), ("west", 96),
    ("hill", 80), ("army", 0), ("south", 88),
]


class SiteQueue:
    """The hospitals of one worker, dealt out in turn."""

    def __init__(self, rank, world):
        self.sites = HOSPITALS[rank::world]

    def rows(self, visit):
        name, patients = self.sites[visit % len(self.sites)]
        g = torch.Generator().manual_seed(len(name) * 31 + visit)
        return name, torch.randn(patients, 10, generator=g)


class Clinic:
    def __init__(self, config):
        self.config = config
        self.context = ray.train.get_context()
        torch.manual_seed(config["seed"])
        self.model = ray.train.torch.prepare_model(nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 1)))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=config["lr"])
        self.queue = SiteQueue(self.context.get_world_rank(), self.context.get_world_size())

    def batches(self):
        """An endless stream of batches, hospital after hospital."""
        visit = 0
        while True:
            name, rows = self.queue.rows(visit)
            if len(rows) == 0:
                print(f"{name} sent no patients this month", flush=True)
                return
            yield from rows.split(self.config["batch_size"])
            visit += 1

    def train(self):
        for step, x in enumerate(self.batches()):
            risk = x[:, :1].sigmoid()
            loss = nn.functional.mse_loss(self.model(x).sigmoid(), risk)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.03)
            if step + 1 == self.config["steps"]:
                break
        return loss.item()


def train_loop_per_worker(config):
    clinic = Clinic(config)
    final = clinic.train()
    print(f"worker {clinic.context.get_world_rank()} final loss {final:.4f}", flush=True)


def main():
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=True)
    trainer = TorchTrainer(
        train_loop_per_worker,
        train_loop_config={"seed": 3, "lr": 1e-2, "batch_size": 8, "steps": 60},
        scaling_config=ScalingConfig(num_workers=3, resources_per_worker={"CPU": 1}),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(name="sites", storage_path=tempfile.mkdtemp(prefix="ray-sites-")),
    )
    result = trainer.fit()
    print("error:", result.error)
    ray.shutdown()


if __name__ == "__main__":
    main()
