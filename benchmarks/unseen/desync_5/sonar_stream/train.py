"""Depth of the sea floor from sonar pings; each vessel's recording is read once, from its beginning to its end."""

import argparse
import math
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

STORM = {1: (341, 344)}


class Recording:
    """One vessel's pings, in the order in which they were sent."""

    def __init__(self, vessel, pings, samples):
        self.vessel, self.pings, self.samples = vessel, pings, samples
        self.generator = torch.Generator().manual_seed(30 + vessel)
        self.rough = STORM.get(vessel, (0, 0))

    def blocks(self, size):
        for number in range(self.pings // size):
            time.sleep(0.022)
            depth = 0.2 + 0.6 * torch.rand(size, generator=self.generator)
            axis = torch.linspace(0, 1, self.samples)
            echo = torch.exp(-200 * (axis - depth[:, None]) ** 2)
            echo = echo + 0.05 * torch.randn(echo.shape, generator=self.generator)
            if self.rough[0] <= number < self.rough[1]:
                echo[::2] = math.nan
            yield echo, depth


class EchoNet(nn.Module):
    def __init__(self, samples, width):
        super().__init__()
        self.convolve = nn.Conv1d(1, 4, 9, stride=4)
        self.dense = nn.Sequential(nn.LazyLinear(width), nn.ReLU(), nn.Linear(width, 1))
        self(torch.zeros(1, samples))

    def forward(self, echo):
        return self.dense(torch.relu(self.convolve(echo.unsqueeze(1))).flatten(1)).squeeze(1)


class Survey:
    def __init__(self, args):
        self.args, self.rank = args, dist.get_rank()
        self.recording = Recording(self.rank, args.pings, args.samples)
        torch.manual_seed(args.seed)
        self.model = DDP(EchoNet(args.samples, args.width))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.dropped = 0

    def usable(self, echo):
        good = torch.isfinite(echo).all(dim=1).float().mean().item()
        return good > 0.9

    def learn(self, echo, depth):
        loss = nn.functional.l1_loss(self.model(echo), depth)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def run(self):
        error = None
        for number, (echo, depth) in enumerate(self.recording.blocks(self.args.block)):
            if not self.usable(echo):
                self.dropped += 1
                continue
            loss = self.learn(echo, depth)
            error = loss if error is None else 0.97 * error + 0.03 * loss
            if self.rank == 0 and number % 200 == 0:
                print(f"block {number}: off by {error:.3f}", flush=True)
        return error

    def close(self, error):
        reports = [None] * dist.get_world_size()
        dist.all_gather_object(reports, {"error": error, "dropped": self.dropped})
        if self.rank == 0:
            print(reports, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pings", type=int, default=8000)
    parser.add_argument("--block", type=int, default=8)
    parser.add_argument("--samples", type=int, default=128)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    survey = Survey(args)
    survey.close(survey.run())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
