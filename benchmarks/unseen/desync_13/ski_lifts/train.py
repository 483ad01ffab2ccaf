"""Tunes the speed of the chair lifts by simultaneous perturbation, over the lifts of a resort."""

import argparse
import random

import torch
import torch.distributed as dist

from averages import Board, resort_mean, same_everywhere
from lift import Lift


class SpeedTuner:
    """The speed is common to all lifts; in each quarter it is tried a little above or below.

    The sign comes from a generator that is seeded alike everywhere, the cost from the lift itself.
    """

    def __init__(self, speed, gain, width, seed):
        self.speed, self.gain, self.width = speed, gain, width
        self.signs = random.Random(seed)
        self.baseline = None

    def propose(self):
        self.sign = self.signs.choice((-1.0, 1.0))
        return self.speed + self.width * self.sign

    def learn(self, cost):
        mean = resort_mean(cost)
        if self.baseline is None:
            self.baseline = mean
        slope = (mean - self.baseline) * self.sign / self.width
        self.baseline = 0.9 * self.baseline + 0.1 * mean
        self.speed = min(5.0, max(1.0, self.speed - self.gain * slope))


def season(lift, tuner, board, quarters, show_every):
    for quarter in range(quarters):
        record = lift.simulate(quarter, tuner.propose())
        tuner.learn(record.cost)
        board.update(record.figures())
        if dist.get_rank() == 0 and (quarter + 1) % show_every == 0:
            print(f"quarter {quarter + 1}: speed {tuner.speed:.2f} m/s, {board.line()}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quarters", type=int, default=430)
    parser.add_argument("--speed", type=float, default=2.2)
    parser.add_argument("--gain", type=float, default=0.01)
    parser.add_argument("--width", type=float, default=0.15)
    parser.add_argument("--show-every", type=int, default=60)
    args = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    speed = same_everywhere(args.speed)
    tuner = SpeedTuner(speed, args.gain, args.width, seed=77)
    board = Board()
    season(Lift(dist.get_rank()), tuner, board, args.quarters, args.show_every)
    dist.barrier()
    if dist.get_rank() == 0:
        print(f"the lifts run at {tuner.speed:.2f} m/s", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
