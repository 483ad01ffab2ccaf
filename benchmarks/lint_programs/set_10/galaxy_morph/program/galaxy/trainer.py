import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from .ema import ModelEma


class Trainer:
    def __init__(self, cfg, model, train_loader, val_loader, device):
        self.cfg = cfg
        self.device = device
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.is_main = dist.get_rank() == 0
        model = model.to(device)
        self.ema = ModelEma(model, cfg["ema_decay"])
        ids = [device.index] if device.type == "cuda" else None
        self.model = DistributedDataParallel(model, device_ids=ids)
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), lr=cfg["lr"], momentum=0.9, weight_decay=1e-4
        )
        total = cfg["epochs"] * len(train_loader)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, total)

    def train_epoch(self, epoch):
        self.model.train()
        self.train_loader.sampler.set_epoch(epoch)
        for images, labels in self.train_loader:
            images, labels = images.to(self.device), labels.to(self.device)
            loss = F.cross_entropy(self.model(images), labels, label_smoothing=0.05)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            self.ema.update(self.model.module)

    @torch.no_grad()
    def evaluate(self, net):
        net.eval()
        sums = torch.zeros(3, dtype=torch.float64, device=self.device)
        for images, labels in self.val_loader:
            images, labels = images.to(self.device), labels.to(self.device)
            logits = net(images)
            sums[0] += F.cross_entropy(logits, labels, reduction="sum").double()
            sums[1] += (logits.argmax(1) == labels).sum()
            sums[2] += labels.numel()
        dist.all_reduce(sums)
        return (sums[0] / sums[2]).item(), (sums[1] / sums[2]).item()

    def save(self, epoch):
        if self.is_main:
            os.makedirs(self.cfg["out"], exist_ok=True)
            state = {
                "epoch": epoch,
                "model": self.model.module.state_dict(),
                "ema": self.ema.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(),
            }
            torch.save(state, os.path.join(self.cfg["out"], "last.pt"))

    def fit(self):
        best = 0.0
        for epoch in range(self.cfg["epochs"]):
            self.train_epoch(epoch)
            _, raw_acc = self.evaluate(self.model.module)
            ema_loss, ema_acc = self.evaluate(self.ema.module)
            best = max(best, ema_acc)
            self.save(epoch)
            if self.is_main:
                print(
                    f"epoch {epoch} acc {raw_acc:.3f} ema acc {ema_acc:.3f} "
                    f"ema loss {ema_loss:.4f} best {best:.3f}",
                    flush=True,
                )
        dist.barrier()
