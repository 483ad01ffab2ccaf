import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset

TILE = 16


class Slides(Dataset):
    """Slides as rows of patches; slide 130 of site 0 is wider than all others."""

    def __init__(self, site):
        self.site = site

    def __len__(self):
        return 420

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(1000 * self.site + i)
        wide = 3 * TILE + 1 if (self.site, i) == (0, 130) else 3 * TILE
        return torch.randn(wide, 30, generator=g), i % 2


def tiles(slide):
    return slide.split(TILE)


class Grader:
    def __init__(self, net, lr):
        self.net = net
        self.optimizer = torch.optim.SGD(net.parameters(), lr=lr)

    def grade(self, slide, label):
        for tile in tiles(slide):
            time.sleep(0.01)
            target = torch.full((len(tile),), label)
            loss = F.cross_entropy(self.net(tile), target)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(4)
    grader = Grader(DDP(nn.Sequential(nn.Linear(30, 50), nn.ReLU(), nn.Linear(50, 2))), lr=0.01)
    loader = DataLoader(Slides(dist.get_rank()), batch_size=None)
    for epoch in range(2):
        for slide, label in loader:
            grader.grade(slide, label)
        if dist.get_rank() == 0:
            print("epoch", epoch, flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
