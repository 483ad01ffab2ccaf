"""Soft sensors of the weight of paper: one for each machine, drawn towards the mean of the mill."""

import argparse
import json
import random
import time

import torch
import torch.distributed as dist

from stock import Board

SENSORS = 7


class Machine:
    def __init__(self, number):
        self.number = number
        self.generator = torch.Generator().manual_seed(31 * number + 1)
        self.truth = torch.linspace(-1, 1, SENSORS) + 0.1 * number

    def standing(self, roll):
        """The fourth machine had its wire changed."""
        return self.number == 3 and roll == 140

    def roll(self, roll):
        """Readings of a roll of paper: none if the machine stood still."""
        count = 0 if self.standing(roll) else 20 + 5 * ((roll + self.number) % 3)
        readings = torch.randn(count, SENSORS, generator=self.generator)
        weight = readings @ self.truth + 0.2 * torch.randn(count, generator=self.generator)
        return readings, weight


class Sensor:
    """A linear model, fitted by a few gradient steps for every roll."""

    def __init__(self, lr, pull):
        self.weights = torch.zeros(SENSORS)
        self.lr, self.pull = lr, pull
        self.error = None

    def fit(self, readings, weight, steps=3):
        if not len(readings):
            return
        for _ in range(steps):
            residual = readings @ self.weights - weight
            self.weights -= self.lr * readings.T @ residual / len(readings)
        self.error = residual.square().mean().item()

    def draw(self, mean):
        return torch.lerp(self.weights, mean, self.pull)


def process(machine, sensor, board, rolls, pace):
    clock = random.Random(machine.number)
    for number in range(rolls):
        readings, weight = machine.roll(number)
        time.sleep(pace + clock.uniform(0, pace / 2))
        sensor.fit(readings, weight)
        mean = board.publish(sensor.weights)
        if number % 20 == 19:
            smooth = sensor.draw(mean)
            if machine.number == 0 and number % 100 == 99:
                print(f"roll {number + 1}: error {sensor.error:.3f}, distance {(smooth - mean).norm():.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rolls", type=int, default=560)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--pull", type=float, default=0.1)
    parser.add_argument("--pace", type=float, default=0.05)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    machine, sensor = Machine(dist.get_rank()), Sensor(args.lr, args.pull)
    board = Board(SENSORS)
    process(machine, sensor, board, args.rolls, args.pace)
    errors = [None] * dist.get_world_size()
    dist.all_gather_object(errors, sensor.error)
    if machine.number == 0:
        print(json.dumps({"errors": errors}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
