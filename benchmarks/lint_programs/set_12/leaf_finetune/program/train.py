"""torchrun --nproc-per-node 2 train.py config.toml"""
import sys
import tomllib

import torch.distributed as dist

from engine import Engine


def main(path):
    with open(path, "rb") as f:
        cfg = tomllib.load(f)
    dist.init_process_group("gloo")
    try:
        Engine(cfg).run()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "config.toml")
