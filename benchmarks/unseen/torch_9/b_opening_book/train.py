"""Self-play of a small board game. All ranks play and learn together; one of them hosts the league's referee."""
import argparse
import tempfile
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from book import OpeningBook
from referee import Referee

CELLS = 25


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=500)
    p.add_argument("--flush-every", type=int, default=15)
    p.add_argument("--league-rank", type=int, default=1)
    p.add_argument("--league-from", type=int, default=155)
    return p.parse_args()


class ValueNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(CELLS, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.win = nn.Linear(48, 1)

    def forward(self, board):
        return self.win(self.body(board)).squeeze(-1)


def play(rng, count=24):
    time.sleep(0.02)
    boards = torch.randint(-1, 2, (count, CELLS), generator=rng).float()
    won = (boards[:, :13].sum(1) > boards[:, 13:].sum(1)).float()
    return boards, won


def learn(net, opt, boards, won, world):
    opt.zero_grad()
    loss = F.binary_cross_entropy_with_logits(net(boards), won)
    loss.backward()
    grads = torch.cat([p.grad.flatten() for p in net.parameters()])
    dist.all_reduce(grads)
    for p, g in zip(net.parameters(), grads.split([p.numel() for p in net.parameters()])):
        p.grad = (g / world).view_as(p)
    opt.step()
    return loss.item()


def main():
    args = parse()
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(4)
    net = ValueNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    rng = torch.Generator().manual_seed(50 + rank)

    with tempfile.TemporaryDirectory() as folder:
        book = OpeningBook(folder, rank)
        referee = Referee(book)
        pending = []
        for step in range(args.steps):
            boards, won = play(rng)
            loss = learn(net, opt, boards, won, world)
            opening = "".join("-0+"[int(c) + 1] for c in boards[0, :4])
            pending.append({"opening": opening, "moves": boards[0].int().tolist(), "won": int(won[0])})
            if (step + 1) % args.flush_every == 0:
                book.append(pending)
                pending = []
            if rank == args.league_rank and step == args.league_from:
                referee.start()
            if rank == 0 and step % 20 == 0:
                print(f"step {step} loss {loss:.4f}", flush=True)
        referee.stop()
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
