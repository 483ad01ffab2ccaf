"""Wear of tram bearings with Ray Train on two workers."""

import argparse
import logging
import os
import tempfile

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer

from worker import train_line

log = logging.getLogger("trams")


def build(args):
    return TorchTrainer(
        train_line,
        train_loop_config={
            "rides": args.rides,
            "batch": args.batch,
            "epochs": args.epochs,
            "lr": args.lr,
            "limit": args.limit,
            "seed": 12,
        },
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False, resources_per_worker={"CPU": 1}),
        run_config=RunConfig(name="bearings", storage_path=tempfile.mkdtemp(prefix="trams_")),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rides", type=int, default=480)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--limit", type=float, default=0.35, help="mean error that the workshop accepts")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=True)
    try:
        result = build(args).fit()
        log.info("last error %.3f in epoch %d", result.metrics["error"], result.metrics["epoch"])
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
