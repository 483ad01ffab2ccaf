import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from .comm import device
from .hooks import build_hooks
from .meters import MeterBank


class Trainer:
    def __init__(self, cfg, model, train_loader, val_loader):
        self.cfg = cfg
        self.device = device()
        self.model = DDP(model.to(self.device))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg["lr"])
        self.train_loader, self.val_loader = train_loader, val_loader
        self.out_dir = cfg["out_dir"]
        self.hooks = build_hooks(cfg["hooks"])
        self.meters = MeterBank()
        self.epoch = self.step = 0

    def call(self, event):
        for hook in self.hooks:
            getattr(hook, event)(self)

    def fit(self):
        for self.epoch in range(self.cfg["epochs"]):
            self.train_loader.sampler.set_epoch(self.epoch)
            self.meters.reset()
            self.call("before_epoch")
            self.model.train()
            for self.step, (x, y) in enumerate(self.train_loader):
                x, y = x.to(self.device), y.to(self.device)
                logits = self.model(x)
                loss = F.cross_entropy(logits, y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                accuracy = (logits.argmax(-1) == y).float().mean()
                self.meters.update(n=len(y), loss=loss.item(), accuracy=accuracy.item())
                self.call("after_step")
            self.call("after_epoch")

    @torch.no_grad()
    def evaluate(self):
        net = self.model.module
        net.eval()
        hits = torch.zeros(2, device=self.device)
        for x, y in self.val_loader:
            x, y = x.to(self.device), y.to(self.device)
            hits += hits.new_tensor([(net(x).argmax(-1) == y).sum().item(), len(y)])
        dist.all_reduce(hits)
        net.train()
        return (hits[0] / hits[1]).item()

    def snapshot(self):
        return {
            "model": self.model.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "epoch": self.epoch,
            "train": self.meters.export(),
        }
