import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, net, optimizer, loader, sampler, device, run, out_dir):
        self.net = net
        self.model = DDP(net, device_ids=[device.index] if device.type == "cuda" else None)
        self.optimizer = optimizer
        self.loader, self.sampler = loader, sampler
        self.device, self.run, self.out_dir = device, run, out_dir
        self.rank = dist.get_rank()
        self.step = 0

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        self.model.train()
        total = torch.zeros(3, device=self.device)
        for clips, actions in self.loader:
            clips, actions = clips.to(self.device), actions.to(self.device)
            logits = self.model(clips)
            loss = F.cross_entropy(logits, actions)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            self.step += 1
            with torch.no_grad():
                total[0] += loss * actions.numel()
                total[1] += (logits.argmax(1) == actions).sum()
                total[2] += actions.numel()
        dist.all_reduce(total)
        loss, correct, count = total.tolist()
        return {"train/loss": loss / count, "train/acc": correct / count}

    def save(self, epoch):
        path = os.path.join(self.out_dir, f"epoch{epoch}.pt")
        if self.rank == 0:
            os.makedirs(self.out_dir, exist_ok=True)
            torch.save({"model": self.net.state_dict(), "step": self.step}, path)
        dist.barrier()
        return path

    def fit(self, epochs):
        for epoch in range(epochs):
            metrics = self.train_epoch(epoch)
            self.run.log(metrics, self.step)
            path = self.save(epoch)
            self.run.log_artifact(path, kind="model", aliases=["latest"])
            if self.rank == 0:
                print(epoch, metrics, flush=True)
        dist.barrier()
        self.run.finish()
