"""Orders of a seed shop as a pipeline of torchdata nodes."""

import time

import torch
from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper

SORTS = 12


class Orders:
    def __init__(self, shop, count):
        self.shop, self.count = shop, count

    def __iter__(self):
        for number in range(self.count):
            yield self.shop, number


def parse(order):
    shop, number = order
    generator = torch.Generator().manual_seed(100_000 * shop + number)
    time.sleep(0.009 + 0.004 * torch.rand(1, generator=generator).item())
    grams = torch.rand(SORTS, generator=generator)
    if shop == 1 and 800 <= number < 804:
        grams.zero_()  # vouchers
    return grams, grams[:4].sum() - grams[4:].mean()


def paid_for(orders):
    """Orders without goods tell nothing about the demand."""
    kept = [(grams, demand) for grams, demand in orders if grams.sum() > 0]
    if not kept:
        return None
    grams, demand = zip(*kept)
    return torch.stack(grams), torch.stack(demand)


def open_shop(shop, count, batch):
    node = IterableWrapper(Orders(shop, count))
    node = Batcher(Mapper(node, parse), batch, drop_last=True)
    return Loader(Mapper(node, paid_for))
