"""Which blend of spices is it? Aroma profiles of three shops, month by month."""
import argparse
import dataclasses
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from evaluation import Evaluator

BLENDS = ("curry", "harissa", "dukkah", "berbere", "quatre epices", "gingerbread")


@dataclasses.dataclass
class Config:
    months: int = 12
    steps: int = 60
    batch: int = 32
    aromas: int = 10
    width: int = 32
    lr: float = 5e-3


class Shop:
    """The profiles are the same everywhere, the sales are not: gingerbread is a matter of the season."""

    def __init__(self, number, aromas):
        self.number = number
        self.centres = torch.randn(len(BLENDS), aromas, generator=torch.Generator().manual_seed(1)) * 2
        self.g = torch.Generator().manual_seed(50 + number)

    def sample(self, blends):
        return self.centres[blends] + 0.4 * torch.randn(len(blends), self.centres.shape[1], generator=self.g)

    def batch(self, size):
        blends = torch.randint(0, len(BLENDS), (size,), generator=self.g)
        return self.sample(blends), blends

    def assortment(self, month):
        if self.number == 2 and month >= 3:
            return len(BLENDS) - 1
        return len(BLENDS)

    def sold(self, month):
        kinds = self.assortment(month)
        for _ in range(6):
            blends = torch.arange(4 * kinds) % kinds
            yield self.sample(blends), blends


def train_month(model, optimizer, shop, config):
    for _ in range(config.steps):
        x, blends = shop.batch(config.batch)
        loss = nn.functional.cross_entropy(model(x), blends)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.03)
    return loss.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for field in dataclasses.fields(Config):
        parser.add_argument(f"--{field.name}", type=field.type, default=field.default)
    config = Config(**vars(parser.parse_args()))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    shop = Shop(dist.get_rank(), config.aromas)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(config.aromas, config.width), nn.ReLU(), nn.Linear(config.width, len(BLENDS)))
    model = DDP(net)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr)
    evaluator = Evaluator(net, shop, len(BLENDS))
    for month in range(config.months):
        loss = train_month(model, optimizer, shop, config)
        report = evaluator.month(month)
        if dist.get_rank() == 0:
            recall = " ".join(f"{name} {value:.2f}" for name, value in zip(BLENDS, report["recall"]))
            print(f"month {month} loss {loss:.4f} accuracy {report['accuracy']:.3f} ({recall})", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
