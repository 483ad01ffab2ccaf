import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from .data import build_loaders
from .model import TwoTower


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        torch.manual_seed(cfg.seed)
        rng = torch.Generator().manual_seed(cfg.seed)
        self.train_loader, self.test_loader = build_loaders(cfg, self.rank, self.world, rng)
        self.model = DDP(TwoTower(cfg, rng))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)

    def epoch(self):
        self.model.train()
        total = torch.zeros(2, dtype=torch.float64)
        for user, item in self.train_loader:
            loss = self.model(user, item)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += torch.tensor([loss.item(), 1.0], dtype=torch.float64)
        dist.all_reduce(total)
        return (total[0] / total[1]).item()

    @torch.no_grad()
    def hit_rate(self, k=10):
        net = self.model.module
        net.eval()
        hits = torch.zeros(2, dtype=torch.float64)
        for user, item in self.test_loader:
            top = net.scores(user).topk(k, dim=1).indices
            found = (top == item[:, None]).any(1).sum().item()
            hits += torch.tensor([found, len(user)], dtype=torch.float64)
        dist.all_reduce(hits)
        return (hits[0] / hits[1]).item()

    def fit(self):
        for epoch in range(self.cfg.epochs):
            loss, hits = self.epoch(), self.hit_rate()
            if self.rank == 0:
                print(f"epoch {epoch}: loss {loss:.4f} hit@10 {hits:.4f}", flush=True)
        if self.rank == 0:
            os.makedirs(self.cfg.out, exist_ok=True)
            torch.save(self.model.module.state_dict(), os.path.join(self.cfg.out, "towers.pt"))
        dist.barrier()
