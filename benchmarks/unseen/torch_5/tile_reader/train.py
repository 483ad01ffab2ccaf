import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from tiles.dataset import Tiles
from tiles.server import TileServer


class TumourTrainer:
    def __init__(self, batch=4):
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        server = TileServer()
        server.start()
        dataset = Tiles(server.address, self.rank, self.world)
        self.loader = DataLoader(dataset, batch_size=batch, num_workers=1, prefetch_factor=2)
        torch.manual_seed(6)
        self.model = DistributedDataParallel(nn.Sequential(nn.Linear(48, 16), nn.ReLU(), nn.Linear(16, 2)))
        self.optim = torch.optim.Adam(self.model.parameters())

    def epoch(self, number):
        for step, (tiles, labels) in enumerate(self.loader):
            loss = nn.functional.cross_entropy(self.model(tiles), labels)
            self.optim.zero_grad()
            loss.backward()
            self.optim.step()
            time.sleep(0.02)
            if self.rank == 0 and step % 10 == 0:
                print(f"epoch {number} step {step} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    trainer = TumourTrainer()
    for number in range(2):
        trainer.epoch(number)
    dist.destroy_process_group()
