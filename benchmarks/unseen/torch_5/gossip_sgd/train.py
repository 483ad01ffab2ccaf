import argparse
import time

import torch
import torch.distributed as dist
from torch import nn

from mixing import PairwiseMixer
from topology import Schedule


def sensor_stream(rank, batch=8):
    gen = torch.Generator().manual_seed(rank)
    weights = torch.linspace(-1, 1, 16)
    while True:
        x = torch.randn(batch, 16, generator=gen) + 0.1 * rank
        yield x, x @ weights


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--schedule", default="hypercube:20,ring")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(33)
    net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
    optim = torch.optim.SGD(net.parameters(), lr=5e-3)
    mixer = PairwiseMixer(net, Schedule(args.schedule))
    for number, (x, y) in zip(range(args.rounds), sensor_stream(rank)):
        loss = (net(x).squeeze(1) - y).square().mean()
        optim.zero_grad()
        loss.backward()
        optim.step()
        mixer.mix(number)
        time.sleep(0.02)
        if rank == 0 and number % 5 == 0:
            print(f"round {number} loss {loss.item():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
