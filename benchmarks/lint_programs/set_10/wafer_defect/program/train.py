import argparse

import torch
import torch.distributed as dist
from torch import nn

from runner import Config, Runner
from runner.dist_utils import init_dist


def build_model():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(16 * 9, 3),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("config", nargs="?", default="configs/wafer.json")
    parser.add_argument("--run-name")
    parser.add_argument("--epochs", type=int)
    args = parser.parse_args()

    device = init_dist()
    cfg = Config.from_file(args.config, run_name=args.run_name, epochs=args.epochs)
    torch.manual_seed(cfg.seed)
    runner = Runner(cfg, build_model(), device)
    runner.train()
    runner.test()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
