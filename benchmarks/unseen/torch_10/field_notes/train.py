"""Species from a walker's notes and, where the walker carried a recorder, from the call."""

import json
import sys
import time
from dataclasses import asdict, dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from model import SpeciesModel


@dataclass
class Config:
    sightings: int = 1440
    batch_size: int = 12
    epochs: int = 4
    lr: float = 4e-3
    seed: int = 21


class Sightings(Dataset):
    """Sorted by walk. Of walk 3 (sightings 600 to 719) every third one is by the botanist, who carries no recorder."""

    def __init__(self, cfg, vocab=120, bins=32, species=6):
        g = torch.Generator().manual_seed(cfg.seed)
        n = cfg.sightings
        self.species = torch.randint(species, (n,), generator=g)
        words = torch.randint(vocab // species, (n, 8), generator=g)
        self.tokens = words + (vocab // species) * self.species[:, None]
        self.spectra = torch.randn(n, bins, generator=g)
        self.spectra[torch.arange(n), self.species] += 2.0
        self.recorded = torch.ones(n, dtype=torch.bool)
        self.recorded[602:720:3] = False

    def __len__(self):
        return len(self.species)

    def __getitem__(self, i):
        return self.tokens[i], self.spectra[i], self.recorded[i], self.species[i]


class LossLog:
    """One JSON line per step, with the loss of every rank."""

    def __init__(self, stream, every=10):
        self.stream, self.every = stream, every
        self.parts = [torch.zeros(()) for _ in range(dist.get_world_size())]

    def write(self, step, loss):
        dist.all_gather(self.parts, loss.detach())
        if dist.get_rank() == 0 and step % self.every == 0:
            losses = [round(p.item(), 4) for p in self.parts]
            print(json.dumps({"step": step, "losses": losses}), file=self.stream, flush=True)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    cfg = Config()
    torch.manual_seed(cfg.seed)
    model = DDP(SpeciesModel())
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    data = Sightings(cfg)
    sampler = DistributedSampler(data, shuffle=False)
    loader = DataLoader(data, batch_size=cfg.batch_size, sampler=sampler)
    journal = LossLog(sys.stdout)
    if dist.get_rank() == 0:
        print(json.dumps(asdict(cfg)), flush=True)
    step = 0
    for _ in range(cfg.epochs):
        for tokens, spectra, recorded, species in loader:
            loss = nn.functional.cross_entropy(model(tokens, spectra, recorded), species)
            optimizer.zero_grad()
            loss.backward()
            journal.write(step, loss)
            optimizer.step()
            step += 1
            time.sleep(0.025)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
