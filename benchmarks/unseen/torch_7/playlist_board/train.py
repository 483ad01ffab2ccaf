import itertools
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from board import Board

MOODS = ("calm", "party", "sport")


def sessions(market, seed):
    """(song ids, mood, liked); the market of rank 1 hears no sport songs at night."""
    g = torch.Generator().manual_seed(seed)
    for t in itertools.count():
        night = t >= 16
        moods = torch.arange(9) % (2 if market == 1 and night else 3)
        songs = torch.randint(0, 200, (9, 5), generator=g)
        yield songs, moods, (songs.float().mean(1) > 100).float()


class TwoTower(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.songs = torch.nn.EmbeddingBag(200, 16, mode="mean")
        self.moods = torch.nn.Embedding(3, 16)
        self.bias = torch.nn.Parameter(torch.zeros(()))

    def forward(self, songs, moods):
        return (self.songs(songs) * self.moods(moods)).sum(-1) + self.bias


def record(board, losses, moods):
    board["loss"].add(losses.mean().item())
    for k in moods.unique().tolist():
        mine = losses[moods == k]
        board[f"loss/{MOODS[k]}"].add(mine.mean().item(), len(mine))


def main(steps=48, every=8):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = DDP(TwoTower())
    opt = torch.optim.Adagrad(model.parameters(), lr=0.05)
    board = Board()
    criterion = torch.nn.BCEWithLogitsLoss(reduction="none")
    for step, (songs, moods, liked) in zip(range(1, steps + 1), sessions(rank, 70 + rank)):
        losses = criterion(model(songs, moods), liked)
        opt.zero_grad()
        losses.mean().backward()
        opt.step()
        record(board, losses.detach(), moods)
        time.sleep(0.02)
        if step % every == 0:
            line = board.flush()
            if rank == 0:
                print(step, {k: round(v, 3) for k, v in line.items()}, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
