"""Behaviour cloning for a six-joint arm; one of the processes records video."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from recorder import Off, Recorder

JOINTS = 6


class Simulator:
    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)
        self.pose = torch.zeros(JOINTS)

    def demonstrations(self, n):
        start = torch.rand(n, JOINTS, generator=self.g)
        goal = torch.rand(n, JOINTS, generator=self.g)
        return torch.cat([start, goal], 1), goal - start

    def render(self, width, height):
        self.pose = (self.pose + 0.01) % 1.0
        x = torch.arange(width).view(1, -1) / width
        y = torch.arange(height).view(-1, 1) / height
        picture = ((x - self.pose[0]) ** 2 + (y - self.pose[1]) ** 2).clamp(max=1)
        return (picture * 255).to(torch.uint8).numpy().tobytes()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--updates", type=int, default=300)
    p.add_argument("--camera", type=int, default=1, help="process that records")
    p.add_argument("--width", type=int, default=96)
    p.add_argument("--height", type=int, default=64)
    a = p.parse_args()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(5)
    policy = DDP(nn.Sequential(nn.Linear(2 * JOINTS, 32), nn.Tanh(), nn.Linear(32, JOINTS)))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    simulator = Simulator(rank)
    video = Recorder(a.width, a.height) if rank == a.camera else Off()
    for update in range(a.updates):
        state, action = simulator.demonstrations(16)
        loss = (policy(state) - action).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        video.write(simulator.render(a.width, a.height))
        time.sleep(0.02)
    print(rank, "recorded", video.close(), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
