from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Patches(Dataset):
    """patches.npy: (N, 2, C, H, W) float32, a state and the state an hour later."""

    def __init__(self, root, mean, std):
        self.patches = np.load(Path(root) / "patches.npy", mmap_mode="r")
        self.mean, self.std = mean.view(-1, 1, 1), std.view(-1, 1, 1)

    def __len__(self):
        return len(self.patches)

    def __getitem__(self, i):
        pair = torch.from_numpy(np.array(self.patches[i]))
        now, later = (pair - self.mean) / self.std
        return now, later


def node_moments(root, channels, chunk=256):
    """Count, sum and sum of squares per channel of the files of this node."""
    patches = np.load(Path(root) / "patches.npy", mmap_mode="r")
    out = torch.zeros(3, channels, dtype=torch.float64)
    for start in range(0, len(patches), chunk):
        x = np.asarray(patches[start:start + chunk], dtype=np.float64)
        out[0] += x.size / channels
        out[1] += torch.from_numpy(x.sum(axis=(0, 1, 3, 4)))
        out[2] += torch.from_numpy((x ** 2).sum(axis=(0, 1, 3, 4)))
    return out


def climatology(root, channels, topo, device):
    """Mean and std over the data of all nodes. Reading is slow, so one rank per node does it."""
    moments = torch.zeros(3, channels, dtype=torch.float64)
    if topo.is_leader:
        moments = node_moments(root, channels)
    moments = moments.to(device)
    if topo.is_leader:
        dist.all_reduce(moments, group=topo.leader_group)
    dist.broadcast(moments, src=topo.leader, group=topo.node_group)
    count, total, squares = moments.cpu()
    mean = total / count
    std = (squares / count - mean ** 2).clamp(min=1e-12).sqrt()
    return mean.float(), std.float()


def make_loader(cfg, mean, std, topo):
    dataset = Patches(cfg["root"], mean, std)
    # the files differ between the nodes: share them out among the ranks of a node only
    sampler = DistributedSampler(dataset, num_replicas=topo.gpus_per_node, rank=topo.rank - topo.leader,
                                 shuffle=True, drop_last=True)
    loader = DataLoader(dataset, cfg["batch_size"], sampler=sampler, num_workers=cfg["workers"], drop_last=True)
    return loader, sampler
