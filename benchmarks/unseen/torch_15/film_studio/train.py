"""Balancing a pole with evolution strategies; process 0 records one episode of every generation."""
import argparse
import math
import time

import torch
import torch.distributed as dist

from recorder import Recorder


class Pole:
    """A pole on a cart, in small steps."""

    def __init__(self, g):
        self.state = (torch.rand(4, generator=g) - 0.5).mul(0.1).tolist()

    def step(self, force):
        x, v, angle, spin = self.state
        push = max(-1.0, min(1.0, force)) * 10
        sin, cos = math.sin(angle), math.cos(angle)
        t = (push + 0.05 * spin * spin * sin) / 1.1
        turn = (9.8 * sin - cos * t) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
        drive = t - 0.05 * turn * cos / 1.1
        self.state = [x + 0.02 * v, v + 0.02 * drive, angle + 0.02 * spin, spin + 0.02 * turn]
        return abs(self.state[0]) < 2.4 and abs(self.state[2]) < 0.3


def episode(weights, g, horizon):
    pole, frames = Pole(g), []
    for _ in range(horizon):
        frames.append(list(pole.state))
        if not pole.step(sum(w * s for w, s in zip(weights, pole.state))):
            break
    return frames


def generation(centre, args, g):
    step = torch.zeros_like(centre)
    for _ in range(args.trials):
        noise = torch.randn(4, generator=g)
        better = len(episode((centre + args.sigma * noise).tolist(), g, args.horizon))
        worse = len(episode((centre - args.sigma * noise).tolist(), g, args.horizon))
        step += (better - worse) / args.horizon * noise
    dist.all_reduce(step)
    return centre + args.rate * step / (args.trials * dist.get_world_size())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--generations", type=int, default=130)
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--horizon", type=int, default=120)
    parser.add_argument("--sigma", type=float, default=0.4)
    parser.add_argument("--rate", type=float, default=3.0)
    parser.add_argument("--reel", type=int, default=60)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    recorder = Recorder(args.reel) if rank == 0 else None
    centre = torch.tensor([0.0, 0.0, 1.0, 0.2])
    g = torch.Generator().manual_seed(rank)
    for number in range(args.generations):
        centre = generation(centre, args, g)
        if recorder is not None:
            frames = episode(centre.tolist(), g, args.horizon)
            recorder.record(frames)
            if number % 20 == 0:
                print(f"generation {number}: {len(frames)} steps", flush=True)
        time.sleep(0.02)
    dist.destroy_process_group()
    if recorder is not None:
        recorder.close()


if __name__ == "__main__":
    main()
