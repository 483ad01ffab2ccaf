"""Passengers at the stations of a metro in the next quarter of an hour; parameters are sharded with FSDP2."""

import dataclasses
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from storage import ArchiveWriter


@dataclasses.dataclass
class Config:
    stations: int = 30
    history: int = 4
    width: int = 64
    layers: int = 2
    windows: int = 1200
    batch: int = 20
    epochs: int = 4
    archive_every: int = 2
    lr: float = 1e-3


class CrowdNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.into = nn.Linear(cfg.stations * cfg.history, cfg.width)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(cfg.width), nn.Linear(cfg.width, cfg.width), nn.GELU())
            for _ in range(cfg.layers)
        )
        self.out = nn.Linear(cfg.width, cfg.stations)

    def forward(self, windows):
        x = self.into(windows.flatten(1))
        for layer in self.layers:
            x = x + layer(x)
        return self.out(x)


def counts(cfg):
    g = torch.Generator().manual_seed(31)
    time_of_day = torch.arange(cfg.windows + cfg.history) / 76.0
    size = torch.rand(cfg.stations, generator=g)
    series = size * (1 + torch.sin(2 * torch.pi * time_of_day)).unsqueeze(1)
    series += 0.05 * torch.randn(series.shape, generator=g)
    windows = series.unfold(0, cfg.history, 1)[: cfg.windows]
    return TensorDataset(windows, series[cfg.history :])


def build(cfg):
    torch.manual_seed(0)
    model = CrowdNet(cfg)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def archive(model, epoch, writer):
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if dist.get_rank() == 0:
        since = time.perf_counter()
        path, size = writer.store(f"crowds_{epoch}.pt", state)
        print(f"{size / 1024:.0f} KiB to {path.name} in {time.perf_counter() - since:.1f} s", flush=True)
    dist.barrier()


def main():
    cfg = Config()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = build(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    data = counts(cfg)
    sampler = DistributedSampler(data, drop_last=True)
    loader = DataLoader(data, cfg.batch, sampler=sampler)
    with tempfile.TemporaryDirectory() as folder:
        writer = ArchiveWriter(folder)
        for epoch in range(cfg.epochs):
            sampler.set_epoch(epoch)
            for windows, following in loader:
                loss = nn.functional.mse_loss(model(windows), following)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
            if dist.get_rank() == 0:
                print(f"epoch {epoch} loss {loss.item():.4f}", flush=True)
            if (epoch + 1) % cfg.archive_every == 0:
                archive(model, epoch, writer)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
