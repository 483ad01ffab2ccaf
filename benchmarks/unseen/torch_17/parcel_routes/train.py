"""Minutes that a delivery round takes, from its stops (a small set network, DDP)."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from buckets import BucketBatchSampler
from routes import Routes, collate

log = logging.getLogger("routes")


class RoundTime(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stop = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, stops, mask):
        each = self.stop(stops) * mask[:, :, None]
        return self.head(each.sum(1) / 24)[:, 0]


def train_epoch(model, optimizer, loader, pause):
    errors = []
    for stops, mask, minutes in loader:
        time.sleep(pause)
        loss = nn.functional.mse_loss(model(stops, mask), minutes)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        errors.append(loss.item())
    return errors


def summarize(errors):
    """Errors of all processes, each with its number of batches."""
    everybody = [None] * dist.get_world_size()
    dist.all_gather_object(everybody, {"batches": len(errors), "error": sum(errors) / max(len(errors), 1)})
    return everybody


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--routes", type=int, default=2400)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--pause", type=float, default=0.03)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(message)s")
    data = Routes(args.routes)
    sampler = BucketBatchSampler(data.lengths, args.batch, bounds=(4, 10, 16), rank=rank, world=world)
    loader = DataLoader(data, batch_sampler=sampler, collate_fn=collate)
    torch.manual_seed(0)
    model = DDP(RoundTime(args.width))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        errors = train_epoch(model, optimizer, loader, args.pause)
        for depot, entry in enumerate(summarize(errors)):
            log.info("epoch %d, depot %d: %d batches, error %.4f", epoch, depot, entry["batches"], entry["error"])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
