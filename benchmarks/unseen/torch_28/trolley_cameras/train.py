"""What lies on the shelf? Four trolleys, plain DDP; from the second epoch on the cameras are compared.

torchrun --standalone --nproc-per-node 4 train.py
"""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from aisles import Aisles
from rigs import Rig
from shelves import GOODS, SIDE, Frames

EPOCHS, COMPARE_FROM = 4, 1


class ShelfNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(),
                                      nn.Linear(6 * (SIDE - 2) ** 2, 24), nn.ReLU())
        self.head = nn.Linear(24, GOODS)

    def forward(self, x):
        f = self.features(x)
        return self.head(f), f


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = DistributedDataParallel(ShelfNet())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = DataLoader(Frames(rank), batch_size=16, shuffle=True, drop_last=True)
    rig = Rig()
    aisles = Aisles(rank)

    for epoch in range(EPOCHS):
        if epoch == COMPARE_FROM:
            rig.form()
        spread = 0.0
        for image, goods in loader:
            logits, features = model(image)
            loss = nn.functional.cross_entropy(logits, goods)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            spread += rig.spread(features)
        print(f"[{rank}] epoch {epoch} loss {loss.item():.3f} spread {spread / len(loader):.3f}", flush=True)
        if epoch >= COMPARE_FROM:          # the first epoch is never worth a test
            accuracy = aisles.score(model.module)
            if rank == 0:
                print(f"test aisles {accuracy:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
