"""Snail races with Ray Train: two workers breed a model each."""

import argparse
import tempfile

import ray
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer

from breeding import keep_stable


def settings():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--trial", type=int, default=200)
    parser.add_argument("--lr", type=float, default=0.004)
    return vars(parser.parse_args())


def main():
    config = settings()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=True)
    trainer = TorchTrainer(
        keep_stable,
        train_loop_config=config,
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
        run_config=RunConfig(name="snails", storage_path=tempfile.mkdtemp(prefix="snails")),
    )
    result = trainer.fit()
    print("last round:", result.metrics)
    ray.shutdown()


if __name__ == "__main__":
    main()
