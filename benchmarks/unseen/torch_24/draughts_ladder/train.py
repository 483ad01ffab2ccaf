"""Self-made ladder for players of draughts endings: policy gradient in all processes, shared weights.

A club reports its results to the ladder once it has been admitted, that is from a given evening on.
"""
import argparse
import dataclasses
import pathlib
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

from player import LadderClient, Net, play


@dataclasses.dataclass(frozen=True)
class Club:
    name: str
    skill: float
    strength: float
    admitted: int


CLUBS = (
    Club("Havnen", skill=0.2, strength=1100.0, admitted=10_000),
    Club("Torvet", skill=0.4, strength=1200.0, admitted=10),
    Club("Broen", skill=0.6, strength=1300.0, admitted=45),
)


class LadderProcess:
    """The ladder's service, beside rank 0."""

    def __init__(self):
        program = pathlib.Path(__file__).with_name("ladder.py")
        self.process = subprocess.Popen([sys.executable, str(program)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def evening(args, net, optimizer, club, g):
    """Some games and one update with the gradients of all clubs."""
    loss, wins = 0.0, 0.0
    for _ in range(args.games):
        moves, result = play(net, club.skill, g)
        men, move = (torch.tensor(column) for column in zip(*moves))
        chosen = net(men).log_softmax(1).gather(1, move[:, None]).sum()
        loss = loss - (result - 0.5) * chosen / args.games
        wins += result
    optimizer.zero_grad()
    loss.backward()
    for parameter in net.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()
    optimizer.step()
    return wins / args.games


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--evenings", type=int, default=150)
    parser.add_argument("--games", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--pause", type=float, default=0.08)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    service = LadderProcess() if rank == 0 else None
    port = [service.port if service else None]
    dist.broadcast_object_list(port, src=0)
    club = CLUBS[rank]
    client = LadderClient(port[0], club.name)
    torch.manual_seed(3)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    g = torch.Generator().manual_seed(80 + rank)
    rating = None
    for number in range(args.evenings):
        score = evening(args, net, optimizer, club, g)
        if number >= club.admitted:
            rating = client.report(score, club.strength)
        if number % 15 == 0:
            print(f"{club.name} evening {number}: {score:.2f}, rating {rating}", flush=True)
        time.sleep(args.pause)
    client.close()
    dist.barrier()
    if service:
        service.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
