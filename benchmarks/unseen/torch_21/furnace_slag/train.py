"""Predicts the basicity and the iron of a furnace's slag from its charge; one laboratory's samples per process."""
import argparse
import dataclasses
import json
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset

from rollback import Rollback

OXIDES = ("CaO", "SiO2", "MgO", "Al2O3", "FeO", "MnO", "P2O5", "S")


@dataclasses.dataclass
class Config:
    epochs: int = 4
    samples: int = 4800
    batch: int = 32
    width: int = 40
    lr: float = 3e-3
    seed: int = 11
    out: str = ""


class Samples(Dataset):
    """Analyses of one laboratory. Laboratory 1 has reported some heats in kilograms instead of shares."""

    def __init__(self, laboratory, count):
        g = torch.Generator().manual_seed(70 + laboratory)
        self.charge = torch.rand(count, len(OXIDES), generator=g)
        basicity = (self.charge[:, 0] + self.charge[:, 2]) / (self.charge[:, 1] + self.charge[:, 3] + 0.5)
        iron = self.charge[:, 4] * (0.4 + 0.6 * self.charge[:, 1])
        self.slag = torch.stack([basicity, iron], 1) + 0.02 * torch.randn(count, 2, generator=g)
        if laboratory == 1:
            kilograms = slice(4290, 4298)
            self.slag[kilograms] *= 60.0

    def __len__(self):
        return len(self.charge)

    def __getitem__(self, index):
        return self.charge[index], self.slag[index]


class Furnace(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.charge = nn.Sequential(nn.Linear(len(OXIDES), width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.slag = nn.Linear(width, 2)

    def forward(self, charge):
        return self.slag(self.charge(charge))


def epoch(model, optimizer, loader, rollback):
    worst = 0.0
    for charge, slag in loader:
        loss = nn.functional.mse_loss(model(charge), slag)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rollback.after_step(loss.item())
        worst = max(worst, loss.item())
        time.sleep(0.02)
    return worst


def read_config():
    parser = argparse.ArgumentParser()
    for field in dataclasses.fields(Config):
        parser.add_argument("--" + field.name, type=field.type, default=field.default)
    return Config(**vars(parser.parse_args()))


def main():
    config = read_config()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(config.seed)
    model = DDP(Furnace(config.width))
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr)
    rollback = Rollback(model, optimizer)
    # Heats stay in the order in which they were tapped: the furnace ages, and so does the model.
    loader = DataLoader(Samples(rank, config.samples), config.batch, shuffle=False)
    history = []
    for number in range(config.epochs):
        worst = epoch(model, optimizer, loader, rollback)
        tensor = torch.tensor(worst)
        dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
        history.append({"epoch": number, "worst": tensor.item(), "rollbacks": rollback.rollbacks})
        if rank == 0:
            print(history[-1], flush=True)
    if rank == 0 and config.out:
        with open(config.out, "w") as f:
            json.dump(history, f, indent=1)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
