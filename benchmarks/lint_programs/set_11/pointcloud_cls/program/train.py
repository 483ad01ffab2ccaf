"""Point cloud classification on one workstation.

    python train.py --gpus 4
"""
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from config import Config
from engine import Engine


def worker(rank, argv):
    cfg = Config.from_argv(argv)
    os.environ["MASTER_ADDR"] = cfg.master_addr
    os.environ["MASTER_PORT"] = str(cfg.master_port)
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo", rank=rank, world_size=cfg.gpus)
    try:
        Engine(cfg, rank, device).fit()
    finally:
        dist.destroy_process_group()


def main():
    argv = sys.argv[1:]
    cfg = Config.from_argv(argv)
    if torch.cuda.is_available() and cfg.gpus > torch.cuda.device_count():
        sys.exit(f"only {torch.cuda.device_count()} GPUs here")
    mp.spawn(worker, args=(argv,), nprocs=cfg.gpus, join=True)


if __name__ == "__main__":
    main()
