"""Crop yield regression with Ray Train. Weather comes from a service that is often busy."""
import functools
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


class ServiceBusy(RuntimeError):
    pass


def retry(attempts, pause):
    def wrap(fn):
        @functools.wraps(fn)
        def call(*args, **kwargs):
            for attempt in range(1, attempts + 1):
                try:
                    return fn(*args, attempt=attempt, **kwargs)
                except ServiceBusy as busy:
                    print(f"attempt {attempt}: {busy}", flush=True)
                    if attempt == attempts:
                        raise
                    time.sleep(pause * attempt)

        return call

    return wrap


@retry(attempts=4, pause=1.5)
def weather(region, season, attempt=1):
    """The mirror for the second region answers only at the third or fourth try."""
    if region == 1 and attempt < 4 - season % 2:
        raise ServiceBusy(f"weather of region {region}, season {season} is not ready")
    g = torch.Generator().manual_seed(region * 100 + season)
    return torch.randn(96, 6, generator=g)


def write_report(rows):
    """Rendered by one worker when the training is over."""
    lines = []
    for season, loss in rows:
        lines.append(f"season {season}: {'#' * int(10 + 10 * loss)}")
        time.sleep(2.5)
    return "\n".join(lines)


def farm(config):
    rank = ray.train.get_context().get_world_rank()
    torch.manual_seed(1)
    model = ray.train.torch.prepare_model(nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
    history = []
    for season in range(config["seasons"]):
        table = weather(rank, season)
        for x in table.split(8):
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.02)
        history.append((season, loss.item()))
        ray.train.report({"season": season, "loss": loss.item()})
    if rank == 0:
        print(write_report(history), flush=True)


if __name__ == "__main__":
    ray.init(num_cpus=4, include_dashboard=False)
    result = TorchTrainer(
        farm,
        train_loop_config={"lr": 0.01, "seasons": 3},
        scaling_config=ScalingConfig(num_workers=2, resources_per_worker={"CPU": 1}),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(name="yield", storage_path=tempfile.mkdtemp(prefix="ray-yield-")),
    ).fit()
    print("error:", result.error)
    ray.shutdown()
