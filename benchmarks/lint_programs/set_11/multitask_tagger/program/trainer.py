import math
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from meters import LossBook
from tasks import Tagger, batches


class Balancer:
    """Dynamic weight average: tasks whose loss falls slowly weigh more."""

    def __init__(self, names, temperature):
        self.weights = {name: 1.0 for name in names}
        self.temperature, self.last = temperature, None

    def update(self, means):
        if self.last is not None:
            pace = {n: math.exp(means[n] / self.last[n] / self.temperature) for n in self.weights}
            total = sum(pace.values())
            self.weights = {n: len(pace) * p / total for n, p in pace.items()}
        self.last = means


class Trainer:
    def __init__(self, cfg, tasks, device, local):
        self.cfg, self.tasks, self.device = cfg, tasks, device
        net = Tagger(tasks, cfg["inputs"], cfg["width"]).to(device)
        self.model = DistributedDataParallel(
            net,
            device_ids=[local] if device.type == "cuda" else None,
            find_unused_parameters=True,  # a batch uses the head of its own task only
        )
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg["lr"])
        self.balancer = Balancer([t.name for t in tasks], **cfg["balance"])
        self.book = LossBook(device)

    def fit(self):
        for epoch in range(self.cfg["epochs"]):
            self.model.train()
            for task, x, y in batches(self.tasks, self.cfg["batch_size"], self.cfg["seed"], epoch):
                loss = task.loss(self.model(task.name, x.to(self.device)), y.to(self.device))
                self.optimizer.zero_grad(set_to_none=True)
                (self.balancer.weights[task.name] * loss).backward()
                self.optimizer.step()
                self.book.add(task.name, loss.detach(), len(x))
            means = self.book.close()
            self.balancer.update(means)
            if dist.get_rank() == 0:
                text = "  ".join(f"{n} {means[n]:.4f} (x{self.balancer.weights[n]:.2f})" for n in sorted(means))
                print(f"epoch {epoch}: {text}", flush=True)
                self.save(epoch)
            dist.barrier()

    def save(self, epoch):
        os.makedirs(self.cfg["out"], exist_ok=True)
        state = {"model": self.model.module.state_dict(), "weights": self.balancer.weights, "epoch": epoch}
        torch.save(state, os.path.join(self.cfg["out"], "last.pt"))
