import argparse
import json
import os
import random

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Subset
from torch.utils.data.distributed import DistributedSampler

from galaxy import data, models  # noqa: F401  (fills the registries)
from galaxy.registry import DATASETS, MODELS
from galaxy.trainer import Trainer


def setup(seed):
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cpu")
    if cuda:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    # dropout masks and augmentations are to differ between ranks
    random.seed(seed + dist.get_rank())
    torch.manual_seed(seed + dist.get_rank())
    return device


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="configs/tiny.json")
    args = parser.parse_args()
    with open(args.config) as f:
        cfg = json.load(f)

    device = setup(cfg["seed"])
    rank, world = dist.get_rank(), dist.get_world_size()
    train_set = DATASETS.build(cfg["train"])
    val_set = DATASETS.build(cfg["val"])
    sampler = DistributedSampler(train_set, shuffle=True, seed=cfg["seed"])
    train_loader = DataLoader(train_set, cfg["batch_size"], sampler=sampler, drop_last=True)
    val_loader = DataLoader(Subset(val_set, range(rank, len(val_set), world)), 64)

    model = MODELS.build(cfg["model"])
    Trainer(cfg, model, train_loader, val_loader, device).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
