import argparse
import os

import torch
import torch.distributed as dist
import yaml
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

from callbacks import CALLBACKS
from net import EmotionNet
from trainer import Trainer


def clips(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(6, (n,), generator=g)
    t = torch.arange(40) / 40
    wave = torch.sin(6.28 * (y[:, None] + 1) * t)[:, None]
    return TensorDataset(wave + torch.randn(n, 20, 40, generator=g), y)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default="configs/emotion.yaml")
    ap.add_argument("--limit", type=int, help="training clips")
    ap.add_argument("--epochs", type=int)
    args = ap.parse_args()
    with open(args.config) as f:
        cfg = yaml.safe_load(f)
    cfg["num_train"] = args.limit or cfg["num_train"]
    cfg["epochs"] = args.epochs or cfg["epochs"]

    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    torch.manual_seed(cfg["seed"])

    train, val = clips(cfg["num_train"], 0), clips(cfg["num_val"], 1)
    sampler = DistributedSampler(train, seed=cfg["seed"], drop_last=True)
    train_loader = DataLoader(train, cfg["batch_size"], sampler=sampler, drop_last=True)
    val_loader = DataLoader(Subset(val, range(dist.get_rank(), len(val), dist.get_world_size())), cfg["batch_size"])
    callbacks = [CALLBACKS[c.pop("name")](**c) for c in cfg["callbacks"]]
    Trainer(cfg, EmotionNet(), train_loader, val_loader, callbacks, device).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
