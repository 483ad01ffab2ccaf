"""The cracked stones with the largest errors, of all mines together."""

import torch


class WorstStones:
    def __init__(self, fabric, keep=12):
        self.fabric = fabric
        self.keep = keep
        self.errors = []

    def add(self, predicted, prices, cracked):
        off = (predicted - prices).abs()
        self.errors.append(off[cracked])

    def collect(self):
        """The largest errors of every process, largest first. A process keeps no more than `keep`."""
        mine = torch.cat(self.errors)
        self.errors.clear()
        count = min(self.keep, len(mine))
        top = mine.topk(count).values
        everyone = self.fabric.all_gather(top)
        return everyone.flatten().sort(descending=True).values[: self.keep]


def line(sale, loss, worst):
    shown = " ".join(f"{value:.2f}" for value in worst[:4].tolist())
    return f"sale {sale}: loss {loss:.4f}, worst {shown}"


@torch.no_grad()
def review(fabric, model, loader, worst):
    model.eval()
    for colours, prices, cracked in loader:
        worst.add(model(colours), prices, cracked)
    model.train()
    return worst.collect()
