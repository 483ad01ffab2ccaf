"""Decentralised SGD: local steps, now and then parameters are mixed along a circle (D-PSGD)."""
import argparse
import time

import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from topology import Circle


def sensor_stream(station, size):
    """Temperatures of a station: a daily wave plus its own offset."""
    g = torch.Generator().manual_seed(station)
    while True:
        hour = torch.rand(size, 1, generator=g) * 24
        angle = hour * torch.pi / 12
        x = torch.cat([angle.sin(), angle.cos(), (2 * angle).sin()], dim=1)
        yield x, 3 * angle.sin() + 0.3 * station + 0.1 * torch.randn(size, 1, generator=g)


class LocalTrainer:
    def __init__(self, lr):
        torch.manual_seed(dist.get_rank())
        self.net = torch.nn.Sequential(torch.nn.Linear(3, 24), torch.nn.Tanh(), torch.nn.Linear(24, 1))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=lr)

    def step(self, x, y):
        loss = (self.net(x) - y).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.detach()

    @torch.no_grad()
    def exchange(self, circle):
        flat = parameters_to_vector(self.net.parameters()).clone()
        vector_to_parameters(circle.mix(flat), self.net.parameters())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=80)
    ap.add_argument("--mix-every", type=int, default=24)
    args = ap.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    circle, trainer = Circle(), LocalTrainer(lr=0.02)
    data = sensor_stream(dist.get_rank(), 12)
    for step in range(1, args.steps + 1):
        loss = trainer.step(*next(data))
        time.sleep(0.02)
        if step % 8 == 0:
            dist.all_reduce(loss)
            if circle.rank == 0:
                print(f"step {step} mean loss {loss.item() / circle.world:.4f}", flush=True)
        if step % args.mix_every == 0:
            trainer.exchange(circle)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
