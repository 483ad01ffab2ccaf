"""Tomorrow's orders of bakeries from those of the last weeks."""

import dataclasses
import logging
import os
import pathlib
import shutil
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from cache import FeatureCache


@dataclasses.dataclass
class Config:
    shops: int = 60
    days: int = 90
    window: int = 14
    batch: int = 32
    epochs: int = 6
    lr: float = 2e-3


def aggregate(cfg):
    """Windows over the orders of every shop. One shop after the other, as they come from the tills."""
    xs, ys = [], []
    for shop in range(cfg.shops):
        g = torch.Generator().manual_seed(shop)
        week = torch.rand(7, generator=g).repeat(cfg.days // 7 + 1)[: cfg.days]
        orders = week + 0.1 * torch.randn(cfg.days, generator=g)
        windows = orders.unfold(0, cfg.window + 1, 1)
        xs.append(windows[:, :-1])
        ys.append(windows[:, -1:])
        time.sleep(0.2)
    return {"x": torch.cat(xs), "y": torch.cat(ys)}


def run_folder():
    job = os.environ["TORCHELASTIC_RUN_ID"]
    return pathlib.Path(tempfile.gettempdir()) / f"bakery_{job}_{os.getppid()}"


def train(cfg, features):
    data = TensorDataset(features["x"], features["y"])
    sampler = DistributedSampler(data)
    loader = DataLoader(data, cfg.batch, sampler=sampler)
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(cfg.window, 32), nn.ReLU(), nn.Linear(32, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros(2)
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += torch.tensor([loss.item(), 1.0])
        dist.all_reduce(total)
        if dist.get_rank() == 0:
            logging.info("epoch %d loss %.4f", epoch, total[0] / total[1])


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    cfg = Config()
    dist.init_process_group("gloo")
    folder = run_folder()
    cache = FeatureCache(folder, lambda: aggregate(cfg))
    train(cfg, cache.get(builds=int(os.environ["LOCAL_RANK"]) == 0))
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
