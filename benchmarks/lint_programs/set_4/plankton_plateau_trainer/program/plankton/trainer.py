import torch
import torch.distributed as dist
import torch.nn.functional as F

from .meters import Meter
from .schedules import SCHEDULES


class Trainer:
    def __init__(self, cfg, model, train_loader, val_loader, device):
        self.cfg, self.model, self.device = cfg, model, device
        self.train_loader, self.val_loader = train_loader, val_loader
        self.opt = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
        self.schedule = SCHEDULES[cfg.schedule](self.opt, cfg)
        self.best = 0.0

    def train_epoch(self, epoch):
        self.train_loader.sampler.set_epoch(epoch)
        self.model.train()
        for x, y in self.train_loader:
            loss = F.cross_entropy(self.model(x.to(self.device)), y.to(self.device))
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            self.opt.step()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        result = {"loss": Meter(self.device), "acc": Meter(self.device)}
        for x, y in self.val_loader:
            logits, y = self.model(x.to(self.device)), y.to(self.device)
            result["loss"].update(F.cross_entropy(logits, y), len(y))
            result["acc"].update((logits.argmax(1) == y).float().mean(), len(y))
        return result

    def fit(self):
        for epoch in range(self.cfg.epochs):
            self.train_epoch(epoch)
            result = self.validate()
            loss, acc = result["loss"].synced(), result["acc"].synced()
            self.schedule.end_epoch(result)
            if dist.get_rank() == 0:
                lr = self.opt.param_groups[0]["lr"]
                print(f"epoch {epoch} val loss {loss:.4f} acc {acc:.3f} lr {lr:.2e}", flush=True)
                if acc > self.best:
                    torch.save(self.model.module.state_dict(), self.cfg.out)
            self.best = max(self.best, acc)
