"""Readmission risk over four hospitals: shared trunk, then cross-validation."""
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from finetune import cross_validate

FOLLOW_UP_CASES = [212, 97, 140, 18]
log = logging.getLogger("readmission")


class Trunk(nn.Module):
    out_features = 16

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(12, 32)
        self.b = nn.Linear(32, self.out_features)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = Trunk()
        self.decode = nn.Linear(16, 12)

    def forward(self, x):
        return self.decode(torch.relu(self.trunk(x)))


def patients(hospital, batches):
    g = torch.Generator().manual_seed(hospital)
    for _ in range(batches):
        x = torch.randn(8, 12, generator=g)
        yield x, (x[:, 0] + x[:, 3] > 0).float()


def pretrain(net, hospital):
    ddp = DDP(net)
    optimizer = torch.optim.Adam(ddp.parameters(), lr=1e-3)
    for x, _ in patients(hospital, 40):
        loss = (ddp(x) - x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
    log.info("hospital %d: reconstruction %.3f", hospital, loss.item())


def main():
    logging.basicConfig(level=logging.INFO)
    dist.init_process_group("gloo")
    hospital = dist.get_rank()
    torch.manual_seed(0)
    net = Autoencoder()
    pretrain(net, hospital)
    score = cross_validate(net.trunk, list(patients(hospital, 10)), FOLLOW_UP_CASES)
    if score is not None:
        log.info("hospital %d: %.3f", hospital, score)


if __name__ == "__main__":
    main()
