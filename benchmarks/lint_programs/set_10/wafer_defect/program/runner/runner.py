import json
import os
from dataclasses import asdict

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset
from torch.utils.data.distributed import DistributedSampler

from .data import WaferMaps
from .dist_utils import master_only


class Runner:
    def __init__(self, cfg, model, device):
        self.cfg = cfg
        self.device = device
        self.rank = dist.get_rank()
        self.run_dir = os.path.join(cfg.work_dir, cfg.run_name)
        self.dump_config()
        dist.barrier()

        train = WaferMaps(cfg.train_size, cfg.seed + 1)
        self.sampler = DistributedSampler(train, seed=cfg.seed)
        self.train_loader = DataLoader(train, cfg.batch_size, sampler=self.sampler)
        self.val_loader = self.shard(WaferMaps(cfg.val_size, cfg.seed + 2))
        self.test_loader = self.shard(WaferMaps(cfg.test_size, cfg.seed + 3))
        ids = [device.index] if device.type == "cuda" else None
        self.model = DistributedDataParallel(model.to(device), device_ids=ids)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr)
        self.best = -1.0

    def shard(self, dataset):
        part = range(self.rank, len(dataset), dist.get_world_size())
        return DataLoader(Subset(dataset, part), 64)

    @master_only
    def dump_config(self):
        os.makedirs(self.run_dir, exist_ok=True)
        with open(os.path.join(self.run_dir, "config.json"), "w") as f:
            json.dump(asdict(self.cfg), f, indent=2)

    @master_only
    def log(self, text):
        print(text, flush=True)
        with open(os.path.join(self.run_dir, "log.txt"), "a") as f:
            f.write(text + "\n")

    @property
    def best_path(self):
        return os.path.join(self.run_dir, "best.pth")

    @master_only
    def save_best(self, epoch):
        torch.save({"epoch": epoch, "model": self.model.module.state_dict()}, self.best_path)

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        self.model.train()
        for maps, labels in self.train_loader:
            maps, labels = maps.to(self.device), labels.to(self.device)
            loss = F.cross_entropy(self.model(maps), labels)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def accuracy(self, loader):
        self.model.eval()
        counts = torch.zeros(2, device=self.device)
        for maps, labels in loader:
            maps, labels = maps.to(self.device), labels.to(self.device)
            counts[0] += (self.model.module(maps).argmax(1) == labels).sum()
            counts[1] += labels.numel()
        dist.all_reduce(counts)
        return (counts[0] / counts[1]).item()

    def train(self):
        for epoch in range(self.cfg.epochs):
            self.train_epoch(epoch)
            acc = self.accuracy(self.val_loader)
            self.log(f"epoch {epoch}: val acc {acc:.3f}")
            if acc > self.best:
                self.best = acc
                self.save_best(epoch)
        dist.barrier()

    def test(self):
        state = torch.load(self.best_path, map_location=self.device)
        self.model.module.load_state_dict(state["model"])
        acc = self.accuracy(self.test_loader)
        self.log(f"test acc {acc:.3f} with the weights of epoch {state['epoch']}")
