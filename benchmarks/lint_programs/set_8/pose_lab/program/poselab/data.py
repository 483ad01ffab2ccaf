import math

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from .core import DATASETS, SAMPLERS, get_dist_info


@DATASETS.register
class StickHands(Dataset):
    """Joints of a planar stick hand, rendered as five gaussian spots."""

    def __init__(self, num, num_joints, split, size=24):
        self.num, self.num_joints, self.split, self.size = num, num_joints, split, size
        r = torch.linspace(-1, 1, size)
        self.yy, self.xx = torch.meshgrid(r, r, indexing="ij")

    def __len__(self):
        return self.num

    def joints(self, idx):
        g = torch.Generator().manual_seed(self.split * 100_000 + idx)
        turn = (torch.rand(1, generator=g) - 0.5) * math.pi
        reach = 0.4 + 0.4 * torch.rand(self.num_joints, generator=g)
        ang = turn + torch.linspace(-0.9, 0.9, self.num_joints)
        return torch.stack([reach * torch.sin(ang), reach * torch.cos(ang)], dim=1)

    def __getitem__(self, idx):
        pts = self.joints(idx)
        img = torch.stack([torch.exp(-((self.xx - x) ** 2 + (self.yy - y) ** 2) / 0.02) for x, y in pts])
        return {"img": img.sum(0, keepdim=True), "joints": pts, "idx": idx}

    def evaluate(self, preds, thr):
        """PCK. `preds` follows the order of the dataset."""
        assert len(preds) == len(self)
        gt = torch.stack([self.joints(i) for i in range(len(self))])
        err = (torch.stack(preds) - gt).norm(dim=-1)
        return {"PCK": (err < thr).float().mean().item(), "EPE": err.mean().item()}


@SAMPLERS.register
class DefaultSampler(Sampler):
    def __init__(self, dataset, shuffle, seed=0, round_up=True):
        self.rank, self.world = get_dist_info()
        self.dataset, self.shuffle, self.seed = dataset, shuffle, seed
        self.epoch = 0
        self.num_samples = math.ceil(len(dataset) / self.world)
        self.total = self.num_samples * self.world if round_up else len(dataset)

    def __iter__(self):
        if self.shuffle:
            g = torch.Generator().manual_seed(self.seed + self.epoch)
            order = torch.randperm(len(self.dataset), generator=g).tolist()
        else:
            order = list(range(len(self.dataset)))
        order = (order * math.ceil(self.total / len(order)))[: self.total]
        return iter(order[self.rank:self.total:self.world])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        self.epoch = epoch


def build_loader(cfg, dataset, seed):
    sampler = SAMPLERS.build(cfg["sampler"], dataset=dataset, seed=seed)
    return DataLoader(dataset, cfg["batch_size"], sampler=sampler)
