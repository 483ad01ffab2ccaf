"""Sort the catches of moth traps into families; two Ray workers, each with the traps of one station."""

import argparse
import contextlib
import pathlib
import sys
import tempfile
import time

import ray
import torch
from ray import train
from ray.train import RunConfig, ScalingConfig
from ray.train.collective import barrier
from ray.train.torch import TorchTrainer, prepare_model
from torch import nn
from torch.utils.data import DataLoader

HERE = str(pathlib.Path(__file__).resolve().parent)


@contextlib.contextmanager
def season(name):
    """Times a season; the workers leave it together."""
    begin = time.monotonic()
    try:
        yield
    finally:
        barrier()
        if train.get_context().get_world_rank() == 0:
            print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)


def fit_season(model, optimizer, loader, pause):
    right = seen = 0
    for wings, family in loader:
        scores = model(wings)
        loss = nn.functional.cross_entropy(scores, family)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (scores.argmax(1) == family).sum().item()
        seen += len(family)
        time.sleep(pause)
    return right / seen


def sort_moths(config):
    from catalogue import FAMILIES, PROPORTIONS, STATIONS, Catches

    torch.set_num_threads(1)
    torch.manual_seed(1)
    station = STATIONS[train.get_context().get_world_rank()]
    model = prepare_model(nn.Sequential(nn.Linear(PROPORTIONS, 32), nn.ReLU(), nn.Linear(32, len(FAMILIES))))
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    for epoch in range(config["epochs"]):
        loader = DataLoader(Catches(station, config["nights"]), config["batch"])
        with season(f"season {epoch}"):
            accuracy = fit_season(model, optimizer, loader, config["pause"])
        train.report({"epoch": epoch, "accuracy": accuracy})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nights", type=int, default=20)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--pause", type=float, default=0.05)
    args = parser.parse_args()
    sys.path.insert(0, HERE)
    ray.init(num_cpus=3, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": HERE}})
    trainer = TorchTrainer(
        sort_moths,
        train_loop_config=vars(args),
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
        run_config=RunConfig(name="moth_traps", storage_path=tempfile.mkdtemp(prefix="moth_traps_")),
    )
    result = trainer.fit()
    print(f"accuracy {result.metrics['accuracy']:.3f}", flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
