"""Next-song prediction from listening sessions."""
import itertools
import time
from dataclasses import asdict, dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from archive import Archive


@dataclass(frozen=True)
class Config:
    songs: int = 120
    width: int = 16
    history: int = 6
    batch: int = 8
    steps: int = 64
    save_every: int = 32


class NextSong(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.songs = nn.Embedding(cfg.songs, cfg.width)
        self.attention = nn.Linear(cfg.width, 1)
        self.project = nn.Linear(cfg.width, cfg.songs)

    def forward(self, history):
        h = self.songs(history)
        weight = torch.softmax(self.attention(h), dim=1)
        return self.project((weight * h).sum(1))


def sessions(cfg, listener_pool):
    g = torch.Generator().manual_seed(listener_pool)
    while True:
        start = torch.randint(0, cfg.songs, (cfg.batch, 1), generator=g)
        songs = (start + torch.arange(cfg.history + 1) * 3) % cfg.songs
        yield songs[:, :-1], songs[:, -1]


def main(cfg=Config()):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    if rank == 0:
        print(asdict(cfg), flush=True)
    torch.manual_seed(0)
    model = DDP(NextSong(cfg))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    archive = Archive(keep=2)
    for step, (history, following) in enumerate(itertools.islice(sessions(cfg, rank), cfg.steps), start=1):
        loss = nn.functional.cross_entropy(model(history), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
        if step % cfg.save_every == 0:
            archive.put(step, model, optimizer)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
