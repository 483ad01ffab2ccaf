import os

import torch
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from runtime import Preemption, say


class Trainer:
    def __init__(self, cfg, model, loader, device):
        self.cfg, self.loader, self.device = cfg, loader, device
        self.model = DDP(model.to(device))
        self.optimizer = ZeroRedundancyOptimizer(
            self.model.parameters(), optimizer_class=torch.optim.AdamW, lr=cfg.lr)
        self.epoch = 0
        self.stopped = False

    def save(self, name):
        self.optimizer.consolidate_state_dict(to=0)
        if dist.get_rank() == 0:
            os.makedirs(self.cfg.out, exist_ok=True)
            torch.save({"model": self.model.module.state_dict(),
                        "optimizer": self.optimizer.state_dict(),
                        "epoch": self.epoch}, os.path.join(self.cfg.out, name))
        dist.barrier()
        say(f"saved {name}")

    def on_preempt(self, reason):
        say(f"{reason} received in epoch {self.epoch}")
        self.save("preempted.pt")
        self.stopped = True

    def train_epoch(self):
        self.loader.sampler.set_epoch(self.epoch)
        self.model.train()
        total = torch.zeros(2, device=self.device)
        for x, y in self.loader:
            if self.stopped:
                return
            x, y = x.to(self.device), y.to(self.device)
            loss = F.binary_cross_entropy_with_logits(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += torch.stack([loss.detach(), torch.ones_like(loss)])
        dist.all_reduce(total)
        say(f"epoch {self.epoch}: loss {(total[0] / total[1]).item():.4f}")

    def fit(self):
        with Preemption(self.on_preempt, self.cfg.time_limit):
            for self.epoch in range(self.cfg.epochs):
                self.train_epoch()
                if self.stopped:
                    say("stopping early")
                    return
        self.save("final.pt")
