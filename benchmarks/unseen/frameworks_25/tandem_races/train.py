"""Lap times on two velodromes with Ray Train, one velodrome to a worker; a report after each meeting."""

import argparse
import tempfile
import time
from dataclasses import asdict, dataclass

import ray
import ray.train
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model
from torch import nn

from model import LapModel, Season

VELODROMES = [("Roubaix", ()), ("Herne Hill", (5,))]


@dataclass
class Settings:
    meetings: int = 10
    laps: int = 320
    batch: int = 8
    lr: float = 5e-3


def train_meeting(model, optimizer, batches):
    total, laps = 0.0, 0
    for riders, wind, measured, lap in batches:
        loss = nn.functional.mse_loss(model(riders, wind, measured), lap)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(lap)
        laps += len(lap)
        time.sleep(0.02)  # timing sheets are read
    return total / laps


def worker(config):
    settings = Settings(**config)
    torch.set_num_threads(1)
    torch.manual_seed(3)
    rank = ray.train.get_context().get_world_rank()
    name, wet = VELODROMES[rank]
    season = Season(rank, settings.meetings, settings.laps, wet)
    model = prepare_model(LapModel())
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.lr)
    for number in range(settings.meetings):
        mse = train_meeting(model, optimizer, season.meeting(number, settings.batch))
        print(f"{name}, meeting {number}: {mse:.4f}", flush=True)
        ray.train.report({"meeting": number, "mse": mse})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--meetings", type=int, default=10)
    parser.add_argument("--laps", type=int, default=320)
    args = parser.parse_args()
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=True)
    with tempfile.TemporaryDirectory() as folder:
        trainer = TorchTrainer(
            worker,
            train_loop_config=asdict(Settings(args.meetings, args.laps)),
            torch_config=TorchConfig(backend="gloo"),
            scaling_config=ScalingConfig(num_workers=len(VELODROMES), use_gpu=False),
            run_config=RunConfig(name="laps", storage_path=folder),
        )
        result = trainer.fit()
        print(result.metrics)
    ray.shutdown()


if __name__ == "__main__":
    main()
