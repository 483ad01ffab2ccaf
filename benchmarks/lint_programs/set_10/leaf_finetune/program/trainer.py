import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, Subset

from model import set_trainable


class Finetuner:
    def __init__(self, net, train_ds, val_ds, cfg, device):
        self.cfg, self.device = cfg, device
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.net = net.to(device)
        set_trainable(self.net.backbone, False)
        self.model = self._wrap()
        self.optimizer = torch.optim.AdamW([
            {"params": self.net.head.parameters(), "lr": cfg.lr},
            {"params": self.net.backbone.parameters(), "lr": cfg.lr * 0.1},
        ])
        self.sampler = DistributedSampler(train_ds, shuffle=True)
        self.loader = DataLoader(train_ds, cfg.batch_size, sampler=self.sampler)
        mine = Subset(val_ds, range(self.rank, len(val_ds), self.world))
        self.val_loader = DataLoader(mine, cfg.batch_size)

    def _wrap(self):
        ids = [self.device.index] if self.device.type == "cuda" else None
        return DDP(self.net, device_ids=ids)

    def start_stage(self, epoch):
        """Warm up the head alone, then let the whole network move."""
        if epoch == self.cfg.unfreeze_at:
            set_trainable(self.net.backbone, True)
            if self.rank == 0:
                print("backbone unfrozen", flush=True)

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        self.model.train()
        total = torch.zeros(2, device=self.device)
        for x, y in self.loader:
            x, y = x.to(self.device), y.to(self.device)
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total[0] += loss.detach() * len(y)
            total[1] += len(y)
        dist.all_reduce(total)
        return (total[0] / total[1]).item()

    @torch.no_grad()
    def validate(self):
        self.net.eval()
        hits = torch.zeros(2, device=self.device)
        for x, y in self.val_loader:
            x, y = x.to(self.device), y.to(self.device)
            hits[0] += (self.net(x).argmax(1) == y).sum()
            hits[1] += len(y)
        dist.all_reduce(hits)
        return (hits[0] / hits[1]).item()

    def fit(self):
        best = -1.0
        for epoch in range(self.cfg.epochs):
            self.start_stage(epoch)
            loss = self.train_epoch(epoch)
            acc = self.validate()
            if self.rank == 0:
                print(f"epoch {epoch} loss {loss:.4f} acc {acc:.3f}", flush=True)
                if acc > best:
                    best = acc
                    torch.save(self.net.state_dict(), self.cfg.out)
            dist.barrier()
