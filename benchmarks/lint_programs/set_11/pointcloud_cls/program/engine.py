import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset

SHAPES = 3


class Clouds(Dataset):
    """Spheres, boxes and discs."""

    def __init__(self, n, points, offset=0):
        self.n, self.points, self.offset = n, points, offset

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        gen = torch.Generator().manual_seed(self.offset + i)
        label = i % SHAPES
        xyz = torch.randn(self.points, 3, generator=gen)
        if label == 0:
            xyz = F.normalize(xyz, dim=-1)
        elif label == 1:
            xyz = xyz / xyz.abs().amax(dim=-1, keepdim=True)
        else:
            xyz = F.normalize(xyz, dim=-1) * torch.tensor([1.0, 1.0, 0.05])
        return xyz, label


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.local = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, SHAPES))

    def forward(self, xyz):
        return self.head(self.local(xyz).amax(dim=1))


class Engine:
    def __init__(self, cfg, rank, device):
        self.cfg, self.rank, self.device = cfg, rank, device
        torch.manual_seed(cfg.seed)
        train, val = Clouds(192, cfg.points), Clouds(45, cfg.points, offset=10_000)
        self.sampler = DistributedSampler(train, shuffle=True, seed=cfg.seed)
        self.loader = DataLoader(train, cfg.batch_size, sampler=self.sampler)
        part = Subset(val, range(rank, len(val), dist.get_world_size()))
        self.val_loader = DataLoader(part, cfg.batch_size)
        ids = [device.index] if device.type == "cuda" else None
        self.model = DDP(PointNet().to(device), device_ids=ids)
        self.opt = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        self.model.train()
        for xyz, label in self.loader:
            loss = F.cross_entropy(self.model(xyz.to(self.device)), label.to(self.device))
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            self.opt.step()

    @torch.no_grad()
    def accuracy(self):
        net = self.model.module.eval()
        hits = torch.zeros(2, device=self.device)
        for xyz, label in self.val_loader:
            pred = net(xyz.to(self.device)).argmax(-1).cpu()
            hits += torch.tensor([(pred == label).sum(), len(label)], device=self.device)
        dist.all_reduce(hits)
        return (hits[0] / hits[1]).item()

    def fit(self):
        best = -1.0
        for epoch in range(self.cfg.epochs):
            self.train_epoch(epoch)
            acc = self.accuracy()
            if self.rank == 0:
                print(f"epoch {epoch} acc {acc:.3f}", flush=True)
                if acc > best:
                    best = acc
                    torch.save(self.model.module.state_dict(), self.cfg.out)
