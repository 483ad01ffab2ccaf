"""Daily refresh of a churn model: each worker reads its own region for every day of the window."""
import datetime as dt
import os
import tempfile
import time

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import numpy as np
import ray
import ray.train
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model

REGIONS = ["north", "south", "islands"]
CLOSED = {("south", dt.date(2024, 5, 4))}  # regional holiday


class Warehouse:
    def __init__(self, region):
        self.region = region

    def rows(self, day, n=80):
        if (self.region, day) in CLOSED:
            return np.empty((0, 9), dtype="float32")
        rng = np.random.default_rng(day.toordinal() * 7 + REGIONS.index(self.region))
        x = rng.normal(size=(n, 9)).astype("float32")
        x[:, -1] = (x[:, 0] + x[:, 1] > 0.5)
        return x


class RegionTrainer:
    def __init__(self, config):
        ctx = ray.train.get_context()
        self.rank = ctx.get_world_rank()
        self.house = Warehouse(REGIONS[self.rank])
        self.model = prepare_model(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 1)))
        self.opt = torch.optim.SGD(self.model.parameters(), lr=config["lr"])
        self.batch = config["batch"]

    def fit_day(self, rows):
        data = torch.from_numpy(rows)
        losses = []
        for part in data.split(self.batch):
            out = self.model(part[:, :-1]).squeeze(1)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(out, part[:, -1])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            losses.append(loss.item())
            time.sleep(0.03)
        return sum(losses) / len(losses)

    def run(self, first, days):
        for offset in range(days):
            day = first + dt.timedelta(days=offset)
            rows = self.house.rows(day)
            if len(rows) == 0:
                print(f"{self.house.region}: nothing for {day}, model is up to date", flush=True)
                return
            loss = self.fit_day(rows)
            print(f"{self.house.region} {day} {loss:.3f}", flush=True)
        ray.train.report({"loss": loss})


def worker(config):
    torch.manual_seed(0)
    RegionTrainer(config).run(dt.date(2024, 5, 1), config["days"])


if __name__ == "__main__":
    ray.init(num_cpus=5, include_dashboard=False)
    result = TorchTrainer(
        worker,
        train_loop_config={"lr": 0.1, "batch": 8, "days": 7},
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=ScalingConfig(num_workers=len(REGIONS)),
        run_config=RunConfig(storage_path=tempfile.mkdtemp(prefix="churn_")),
    ).fit()
    print(result.metrics)
