"""Solubility from composition: sum of learned element vectors."""
import itertools
import logging
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from stages import stage

ELEMENTS = {"H": 0, "C": 1, "N": 2, "O": 3, "F": 4, "P": 5, "S": 6, "Cl": 7, "Br": 8, "I": 9}


class Composition(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.vector = nn.Embedding(len(ELEMENTS), width)
        self.readout = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, atoms):
        return self.readout(self.vector(atoms).sum(1)).squeeze(1)


def vendor_file(vendor):
    """Formulae as lists of symbols, as the vendor wrote them."""
    rng = random.Random(vendor)
    common = ["H", "C", "N", "O", "S", "Cl"]
    for row in itertools.count():
        atoms = rng.choices(common, k=9)
        if vendor == 1 and row == 227:
            atoms[4] = "Se"
        yield atoms, len(set(atoms)) / 6


def encode(symbols):
    return [ELEMENTS[s] for s in symbols]


def batches(vendor, size, count):
    rows = vendor_file(vendor)
    for _ in range(count):
        chunk = list(itertools.islice(rows, size))
        yield torch.tensor([encode(a) for a, _ in chunk]), torch.tensor([t for _, t in chunk])


def fit(model, vendor, count=55):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for atoms, target in batches(vendor, 8, count):
        loss = (model(atoms) - target).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        time.sleep(0.03)
    return loss.item()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    dist.init_process_group("gloo")
    with stage("set-up"):
        torch.manual_seed(0)
        net = DistributedDataParallel(Composition())
    with stage("training"):
        final = fit(net, dist.get_rank())
    with stage("export"):
        if dist.get_rank() == 0:
            logging.info("loss %.4f, %d weights", final, sum(p.numel() for p in net.parameters()))
    dist.destroy_process_group()
