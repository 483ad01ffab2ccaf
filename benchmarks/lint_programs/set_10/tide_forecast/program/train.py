import argparse
import os
import tomllib

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Subset
from torch.utils.data.distributed import DistributedSampler

from data import TideDataset
from engine import Trainer, build_hooks


def build_model(window, horizon):
    return nn.Sequential(
        nn.Linear(window, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, horizon)
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="configs/tide.toml")
    args = parser.parse_args()
    with open(args.config, "rb") as f:
        cfg = tomllib.load(f)

    use_cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if use_cuda else torch.device("cpu")
    if use_cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if use_cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(cfg["seed"])
    d = cfg["data"]
    train_set = TideDataset(d["hours"], d["window"], d["horizon"], seed=cfg["seed"])
    val_set = TideDataset(d["val_hours"], d["window"], d["horizon"], seed=cfg["seed"] + 1)
    sampler = DistributedSampler(train_set, shuffle=True, seed=cfg["seed"], drop_last=True)
    train_loader = DataLoader(train_set, cfg["batch_size"], sampler=sampler, drop_last=True)
    val_part = Subset(val_set, range(rank, len(val_set), world))
    val_loader = DataLoader(val_part, 64)

    model = build_model(d["window"], d["horizon"]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    trainer = Trainer(
        model, optimizer, train_loader, val_loader, build_hooks(cfg["hooks"]), device, cfg["max_epochs"]
    )
    trainer.fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
