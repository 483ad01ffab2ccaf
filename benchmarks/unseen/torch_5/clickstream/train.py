"""Click model over session logs.

    torchrun --nproc-per-node 3 train.py --hooks loss_line,calibration,final_sync
"""
import argparse
from dataclasses import dataclass, field

import torch
import torch.distributed as dist

from clickstream import Engine, make_hooks


@dataclass
class RunConfig:
    steps: int = 50
    batch: int = 12
    items: int = 200
    lr: float = 0.05
    seed: int = 3
    reporter: int = 2
    hooks: list = field(default_factory=lambda: ["loss_line", "calibration", "final_sync"])


def sessions(cfg, rank):
    gen = torch.Generator().manual_seed(cfg.seed * 1000 + rank)
    for _ in range(cfg.steps):
        history = torch.randint(0, cfg.items, (cfg.batch, 5), generator=gen)
        candidate = torch.randint(0, cfg.items, (cfg.batch,), generator=gen)
        yield history, candidate, (candidate % 3 == 0).float()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hooks", default="loss_line,calibration,final_sync")
    parser.add_argument("--reporter", type=int, default=2)
    args = parser.parse_args()
    cfg = RunConfig(hooks=args.hooks.split(","), reporter=args.reporter)

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    engine = Engine(cfg, rank)
    for item in make_hooks(cfg.hooks, rank, cfg.reporter):
        engine.attach(item)
    engine.run(sessions(cfg, rank))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
