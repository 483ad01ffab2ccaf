"""Travel times of bus routes with Ray Train: two workers on one machine."""
import os
import tempfile
import time

os.environ.setdefault("RAY_DEDUP_LOGS", "0")

import ray
import ray.train
import torch
from ray.train import Checkpoint, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, prepare_model
from torch import nn


class RouteModel(nn.Module):
    def __init__(self, routes=40, dim=8):
        super().__init__()
        self.route = nn.Embedding(routes, dim)
        self.head = nn.Sequential(nn.Linear(dim + 2, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, route, clock):
        return self.head(torch.cat([self.route(route), clock], dim=-1)).squeeze(-1)


class Reporter:
    """Sends the metrics to the driver, and now and then the weights."""

    def __init__(self, model, every):
        self.model = model
        self.every = every
        self.rank = ray.train.get_context().get_world_rank()

    def step(self, step, loss):
        if (step + 1) % self.every:
            return
        if self.rank == 0:
            # all replicas are the same, one copy is enough
            with tempfile.TemporaryDirectory() as folder:
                weights = getattr(self.model, "module", self.model).state_dict()
                torch.save(weights, os.path.join(folder, "model.pt"))
                ray.train.report({"step": step, "loss": loss}, checkpoint=Checkpoint.from_directory(folder))


def trips(rank, steps, batch=8):
    g = torch.Generator().manual_seed(60 + rank)
    for _ in range(steps):
        route = torch.randint(0, 40, (batch,), generator=g)
        clock = torch.rand(batch, 2, generator=g)
        yield route, clock, clock.sum(1) + route / 40


def train_loop(config):
    torch.manual_seed(0)
    model = prepare_model(RouteModel())
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    reporter = Reporter(model, config["report_every"])
    for step, (route, clock, minutes) in enumerate(trips(reporter.rank, config["steps"])):
        loss = nn.functional.mse_loss(model(route, clock), minutes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
        reporter.step(step, loss.item())


def main():
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=True)
    trainer = TorchTrainer(
        train_loop,
        train_loop_config={"lr": 2e-3, "steps": 60, "report_every": 20},
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
        run_config=RunConfig(name="routes", storage_path=tempfile.mkdtemp(prefix="routes_")),
    )
    result = trainer.fit()
    print(result.metrics)


if __name__ == "__main__":
    main()
