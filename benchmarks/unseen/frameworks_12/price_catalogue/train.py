"""Baskets of a supermarket chain: what comes next into it? A stateful loader for each region, saved with the model."""

import argparse
import pathlib
import tempfile
import time
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import Dataset
from torchdata.stateful_dataloader import StatefulDataLoader

from catalogue import Catalogue


@dataclass
class Region:
    name: str
    days_between_tables: int


@dataclass
class Config:
    articles: int = 200
    baskets: int = 400
    batch: int = 10
    days: int = 12
    workers: int = 2
    regions: list = field(default_factory=lambda: [Region("north", 9), Region("coast", 4), Region("hills", 11)])


class Baskets(Dataset):
    def __init__(self, config, catalogue, region):
        self.catalogue = catalogue
        g = torch.Generator().manual_seed(region)
        self.items = torch.randint(0, config.articles, (config.baskets, 6), generator=g)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        *basket, following = self.items[i].tolist()
        prices = torch.stack([self.catalogue.price(article) for article in basket])
        return torch.tensor(basket), prices, torch.tensor(following % 8)


class NextArticle(nn.Module):
    def __init__(self, articles, width=24):
        super().__init__()
        self.embedding = nn.Embedding(articles, width)
        self.out = nn.Sequential(nn.Linear(width + 5, 48), nn.ReLU(), nn.Linear(48, 8))

    def forward(self, basket, prices):
        return self.out(torch.cat([self.embedding(basket).mean(1), prices], dim=1))


class Shop:
    def __init__(self, config, folder):
        self.config = config
        self.rank = dist.get_rank()
        self.region = config.regions[self.rank]
        self.folder = folder
        self.catalogue = Catalogue(config.articles, self.rank)
        self.loader = StatefulDataLoader(
            Baskets(config, self.catalogue, self.rank), batch_size=config.batch, num_workers=config.workers
        )
        self.model = DistributedDataParallel(NextArticle(config.articles))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)

    def day(self, number):
        total = torch.zeros(1)
        for basket, prices, following in self.loader:
            loss = nn.functional.cross_entropy(self.model(basket, prices), following)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.detach()
            time.sleep(0.02)
        dist.all_reduce(total)
        if self.rank == 0:
            print(f"day {number}: {total.item() / len(self.loader) / dist.get_world_size():.4f}", flush=True)

    def close(self, number):
        state = {"loader": self.loader.state_dict(), "day": number}
        torch.save(state, self.folder / f"{self.region.name}.pt")
        if number % self.region.days_between_tables == 0:
            self.catalogue.refresh_in_background()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=Config.days)
    parser.add_argument("--baskets", type=int, default=Config.baskets)
    config = Config(**vars(parser.parse_args()))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(7)
    with tempfile.TemporaryDirectory() as folder:
        shop = Shop(config, pathlib.Path(folder))
        for number in range(1, config.days + 1):
            shop.day(number)
            shop.close(number)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
