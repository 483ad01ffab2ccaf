"""Prediction of the next heights of a transect through dunes, trained on parts of a coastal survey."""
import logging
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset

from config import Config
from prepare import Survey

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("dunes")


class Windows(Dataset):
    def __init__(self, heights, config):
        self.heights = heights
        self.config = config
        last = len(heights) - config.window - config.ahead
        generator = torch.Generator().manual_seed(config.seed)
        self.starts = torch.randint(last, (config.samples,), generator=generator).tolist()

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, index):
        start = self.starts[index]
        middle = start + self.config.window
        return self.heights[start:middle], self.heights[middle : middle + self.config.ahead]


def build(config):
    torch.manual_seed(config.seed)
    return nn.Sequential(
        nn.Linear(config.window, config.width), nn.Tanh(), nn.Linear(config.width, config.ahead)
    )


def train(model, loader, config):
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr)
    for epoch in range(config.epochs):
        total = torch.zeros(())
        for past, future in loader:
            loss = nn.functional.mse_loss(model(past), future)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
            time.sleep(0.01)
        dist.all_reduce(total)
        if dist.get_rank() == 0:
            log.info("epoch %d: %.4f", epoch, total.item() / len(loader) / dist.get_world_size())


def main():
    config = Config.from_arguments()
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    survey = Survey(rank, config.parts, os.environ.get("TORCHELASTIC_RUN_ID", "local"))
    survey.unpack()
    survey.wait()
    heights = survey.load()
    dist.init_process_group("gloo")
    if rank == 0:
        log.info(config.describe())
    loader = DataLoader(Windows(heights, config), batch_size=config.batch, shuffle=True)
    train(DDP(build(config)), loader, config)
    dist.barrier()
    if rank == 0:
        survey.remove()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
