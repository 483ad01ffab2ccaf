import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

REGIONS = {"coast": [0, 1, 2], "hills": [3, 4]}
STATIONS = {"coast": 6600, "hills": 5600}


class Weather(Dataset):
    def __init__(self, region):
        generator = torch.Generator().manual_seed(len(region) + STATIONS[region])
        self.day = torch.randn(STATIONS[region], 36, generator=generator)

    def __len__(self):
        return len(self.day)

    def __getitem__(self, index):
        time.sleep(0.013)
        return self.day[index, :30], self.day[index, 30:].sum()


class Region:
    """A model of its own for each region, trained by the processes of that region."""

    def __init__(self, name, group, ranks):
        self.name, self.group, self.ranks = name, group, ranks
        width = 40 if name == "coast" else 56
        torch.manual_seed(width)
        self.model = DDP(nn.Sequential(nn.Linear(30, width), nn.Tanh(), nn.Linear(width, 1)), process_group=group)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def train(self):
        data = Weather(self.name)
        place = self.ranks.index(dist.get_rank())
        sampler = DistributedSampler(data, num_replicas=len(self.ranks), rank=place)
        losses = []
        for day, rain in DataLoader(data, batch_size=5, sampler=sampler, drop_last=True):
            loss = nn.functional.huber_loss(self.model(day).squeeze(1), rain)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.detach())
        mean = torch.stack(losses[-20:]).mean()
        dist.all_reduce(mean, group=self.group)
        return mean.item() / len(self.ranks), len(losses)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    groups = {name: dist.new_group(ranks) for name, ranks in REGIONS.items()}
    name = next(name for name, ranks in REGIONS.items() if dist.get_rank() in ranks)
    region = Region(name, groups[name], REGIONS[name])
    loss, steps = region.train()
    dist.barrier()
    if dist.get_rank() == region.ranks[0]:
        print(f"{name}: {loss:.4f} after {steps} steps", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
