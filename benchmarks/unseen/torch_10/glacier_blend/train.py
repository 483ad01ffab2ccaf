"""Ice thickness from surface velocity, with FSDP2. At the end, every rank blends the last snapshots of the archive."""

import logging
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from snapshots import Archive, wait_for


@dataclass
class Config:
    points: int = 768
    width: int = 96
    batch_size: int = 16
    epochs: int = 3
    lr: float = 2e-3
    rate: int = 16000


def build(cfg):
    blocks = [nn.Sequential(nn.Linear(cfg.width, cfg.width), nn.GELU()) for _ in range(2)]
    return nn.Sequential(nn.Linear(6, cfg.width), *blocks, nn.Linear(cfg.width, 1))


def profiles(cfg):
    g = torch.Generator().manual_seed(31)
    x = torch.randn(cfg.points, 6, generator=g)
    return TensorDataset(x, (x[:, :1] * x[:, 1:2]).tanh() + 0.05 * torch.randn(cfg.points, 1, generator=g))


def full_state(model):
    return get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))


def blend(folder, cfg):
    paths = [folder / f"epoch{epoch}.pt" for epoch in range(cfg.epochs)]
    for path in paths:
        wait_for(path)
    states = [torch.load(path) for path in paths]
    return {name: sum(state[name] for state in states) / len(states) for name in states[0]}


def train(cfg, folder):
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = build(cfg)
    for block in model[1:-1]:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    data = profiles(cfg)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, cfg.batch_size, sampler=sampler)
    archive = Archive(folder, cfg.rate)
    for epoch in range(cfg.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.02)
        state = full_state(model)
        if rank == 0:
            digest = archive.put(f"epoch{epoch}.pt", state)
            logging.info("epoch %d loss %.4f archived %s", epoch, loss.item(), digest[:12])
    return blend(folder, cfg)


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    box = [tempfile.mkdtemp(prefix="glacier-") if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    mean = train(Config(), Path(box[0]))
    norm = torch.stack([value.norm() for value in mean.values()]).norm()
    dist.all_reduce(norm, op=dist.ReduceOp.MAX)
    if dist.get_rank() == 0:
        logging.info("norm of the blend %.3f", norm.item())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
