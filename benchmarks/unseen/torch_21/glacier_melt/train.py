"""Daily runoff below a glacier from weather and snow line, with a residual network under FSDP2."""
import argparse
import logging
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from archive import Archive

log = logging.getLogger("melt")


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.silu(self.up(self.norm(x))))


class Runoff(nn.Module):
    def __init__(self, inputs=9, width=48, depth=3):
        super().__init__()
        self.enter = nn.Linear(inputs, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(depth))
        self.leave = nn.Linear(width, 1)

    def forward(self, x):
        x = self.enter(x)
        for layer in self.layers:
            x = layer(x)
        return self.leave(x).squeeze(-1)


def season(days, seed):
    g = torch.Generator().manual_seed(seed)
    weather = torch.randn(days, 9, generator=g)
    degree_days = torch.relu(weather[:, 0] + 0.4 * weather[:, 1])
    runoff = degree_days * (1 + 0.5 * torch.tanh(weather[:, 2])) + 0.3 * torch.relu(weather[:, 3] - weather[:, 4])
    return TensorDataset(weather, runoff + 0.05 * torch.randn(days, generator=g))


def sharded(args):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(args.seed)
    model = Runoff(width=args.width)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def train_epoch(model, optimizer, loader):
    model.train()
    for weather, runoff in loader:
        loss = nn.functional.huber_loss(model(weather), runoff)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.01)


@torch.no_grad()
def held_out_error(model, loader):
    model.eval()
    sums = torch.zeros(2)
    for weather, runoff in loader:
        sums[0] += (model(weather) - runoff).abs().sum()
        sums[1] += len(runoff)
    dist.all_reduce(sums)
    return (sums[0] / sums[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--first-archived", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    logging.basicConfig(level=logging.INFO if dist.get_rank() == 0 else logging.WARNING)
    model = sharded(args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    training, held_out = season(1152, seed=1), season(384, seed=2)
    sampler = DistributedSampler(training, seed=args.seed)
    loader = DataLoader(training, args.batch, sampler=sampler, drop_last=True)
    test_loader = DataLoader(held_out, 64, sampler=DistributedSampler(held_out, shuffle=False))
    archive = Archive(tempfile.mkdtemp(prefix="melt-") if dist.get_rank() == 0 else None, args.first_archived)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        train_epoch(model, optimizer, loader)
        error = held_out_error(model, test_loader)
        kept = archive.consider(model, epoch, error)
        log.info("epoch %d error %.4f%s", epoch, error, " archived" if kept else "")
    archive.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
