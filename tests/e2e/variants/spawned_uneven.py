"""Trains on image shards in processes of torch.multiprocessing.spawn; the shards hold different numbers of images."""

import argparse
import socket
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

SHARDS = (40, 40, 36, 40)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def train(rank: int, world_size: int, port: int, epochs: int) -> None:
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world_size)
    images = torch.randn(SHARDS[rank % len(SHARDS)], 3 * 8 * 8)
    loader = DataLoader(TensorDataset(images), batch_size=4, shuffle=True)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(192, 32), nn.ReLU(), nn.Linear(32, 192)))
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(epochs):
        for (batch,) in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(batch), batch).backward()
            optimizer.step()
        dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--world-size", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    mp.spawn(train, args=(args.world_size, free_port(), args.epochs), nprocs=args.world_size)
