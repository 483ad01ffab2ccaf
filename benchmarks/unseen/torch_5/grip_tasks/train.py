import argparse
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from grip.data import episodes
from grip.losses import multitask
from grip.policy import GripperPolicy


class RunningTable:
    """Loss per robot, exchanged after every update."""

    def __init__(self):
        self.rows = torch.zeros(dist.get_world_size())

    def push(self, value):
        cells = [torch.zeros(1) for _ in self.rows]
        dist.all_gather(cells, torch.tensor([value]))
        self.rows = 0.9 * self.rows + 0.1 * torch.cat(cells)


def update(policy, optim, episode):
    outputs = policy(episode.sensors, episode.contact)
    total, _ = multitask(outputs, episode)
    optim.zero_grad(set_to_none=True)
    total.backward()
    optim.step()
    return total.item()


def main(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=55)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args(argv)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(5)
    policy = DDP(GripperPolicy())
    optim = torch.optim.AdamW(policy.parameters(), lr=args.lr)
    table = RunningTable()
    for number, episode in enumerate(episodes(rank, args.episodes)):
        table.push(update(policy, optim, episode))
        time.sleep(0.02)
        if rank == 0 and number % 11 == 0:
            print(number, [round(v, 3) for v in table.rows.tolist()], flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1:])
