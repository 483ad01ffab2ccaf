"""torchrun --nproc-per-node 2 train.py [--key value ...]"""
import argparse
from dataclasses import fields

import torch.distributed as dist

from recs.config import RecConfig
from recs.trainer import Trainer


def main():
    parser = argparse.ArgumentParser()
    for f in fields(RecConfig):
        parser.add_argument(f"--{f.name}", type=type(f.default), default=f.default)
    cfg = RecConfig(**vars(parser.parse_args()))
    dist.init_process_group("gloo")
    Trainer(cfg).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
