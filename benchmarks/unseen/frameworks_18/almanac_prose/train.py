"""Which month a paragraph of an almanac is about: Ray Train, two workers, one volume each."""

import argparse
import tempfile
from pathlib import Path

import ray
import ray.train
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model
from torch import nn

from chapters import MONTHS, VOLUMES, write_chapter
from prepare import BUCKETS, Hyphenator, features


def batches(inputs, months, size):
    """The same number of batches for chapters of any length."""
    while True:
        rows = torch.randint(len(inputs), (size,))
        yield inputs[rows], months[rows]


def train_volume(config):
    torch.set_num_threads(1)
    torch.manual_seed(31)
    rank = ray.train.get_context().get_world_rank()
    model = prepare_model(nn.Sequential(nn.Linear(BUCKETS, 48), nn.ReLU(), nn.Linear(48, MONTHS)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    hyphenate = Hyphenator()
    with tempfile.TemporaryDirectory(prefix="almanac_") as folder:
        for number, paragraphs in enumerate(VOLUMES[rank]):
            chapter = Path(folder) / f"chapter{number}.txt"
            months = torch.tensor(write_chapter(chapter, rank, number, paragraphs))
            inputs = features(chapter, hyphenate)
            stream = batches(inputs, months, config["batch"])
            total = 0.0
            for _ in range(config["steps"]):
                rows, known = next(stream)
                loss = nn.functional.cross_entropy(model(rows), known)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
            ray.train.report({"chapter": number, "loss": total / config["steps"]})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=len(VOLUMES))
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    ray.init(num_cpus=args.workers + 1, include_dashboard=False)
    with tempfile.TemporaryDirectory(prefix="almanac_runs_") as storage:
        trainer = TorchTrainer(
            train_volume,
            train_loop_config={"steps": args.steps, "batch": args.batch, "lr": args.lr},
            torch_config=TorchConfig(backend="gloo"),
            scaling_config=ScalingConfig(num_workers=args.workers, use_gpu=False),
            run_config=RunConfig(name="almanac", storage_path=storage),
        )
        result = trainer.fit()
    print(f"last chapter: {result.metrics}")
    ray.shutdown()


if __name__ == "__main__":
    main()
