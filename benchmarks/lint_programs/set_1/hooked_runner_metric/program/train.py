import argparse
import os
import random
import runpy

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

import kestrel.hooks  # noqa: F401
import kestrel.metrics  # noqa: F401
from kestrel.dist import get_dist_info, init_dist
from kestrel.registry import HOOKS, METRICS, MODELS
from kestrel.runner import EpochRunner


def load_split(root, split):
    blob = torch.load(os.path.join(root, f"{split}.pt"), map_location="cpu")
    return TensorDataset(blob["x"].float(), blob["y"].long())


def build_loaders(cfg):
    rank, world = get_dist_info()
    common = dict(batch_size=cfg["batch_size"], num_workers=cfg["num_workers"], pin_memory=True)
    train_set = load_split(cfg["root"], "train")
    train = DataLoader(train_set, sampler=DistributedSampler(train_set), drop_last=True, **common)
    val_set = load_split(cfg["root"], "val")
    val = DataLoader(Subset(val_set, range(rank, len(val_set), world)), **common)
    return train, val


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    parser.add_argument("--work-dir", default="work_dirs/default")
    args = parser.parse_args()
    cfg = runpy.run_path(args.config)

    local_rank = init_dist()
    device = torch.device("cuda", local_rank)
    rank, _ = get_dist_info()
    random.seed(cfg["seed"] + rank)
    torch.manual_seed(cfg["seed"] + rank)
    os.makedirs(args.work_dir, exist_ok=True)

    train_loader, val_loader = build_loaders(cfg["data"])
    model = MODELS.build(cfg["model"]).to(device)
    model = DistributedDataParallel(model, device_ids=[local_rank])
    runner = EpochRunner(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters(), **cfg["optimizer"]),
        train_loader=train_loader,
        val_loader=val_loader,
        metrics=[METRICS.build(m, device=device) for m in cfg["metrics"]],
        hooks=[HOOKS.build(h) for h in cfg["hooks"]],
        max_epochs=cfg["max_epochs"],
        work_dir=args.work_dir,
        device=device,
    )
    runner.run()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
