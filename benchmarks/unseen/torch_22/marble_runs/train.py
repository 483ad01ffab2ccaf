"""Evolution strategies for the gates of marble runs; each process has a course of its own and tries a part of the steps.

The courses are rolled in a child process, as the simulator of the workshop may not share a process with the trainer.
"""
import argparse
import dataclasses
import multiprocessing
import time

import torch
import torch.distributed as dist

from course import Course, fitness, roll

ROOM = {0: 3, 1: 3, 2: 12}
context = multiprocessing.get_context("fork")


@dataclasses.dataclass
class Settings:
    generations: int = 240
    candidates: int = 2
    sigma: float = 0.3
    lr: float = 0.2
    level_every: int = 12


def simulate(candidates, course, results):
    for number, weights in enumerate(candidates):
        results.put((number, roll(weights, course)))


class Workshop:
    """Courses grow from level to level, up to the number of ramps for which the workshop has room."""

    def __init__(self, number):
        self.course = Course(number)
        self.longest = ROOM.get(number, 3)

    def level_up(self):
        if len(self.course.slopes) < self.longest:
            self.course.extend()

    def tracks(self, candidates):
        results = context.Queue()
        child = context.Process(target=simulate, args=(candidates, self.course, results))
        child.start()
        child.join()
        tracks = dict(results.get() for _ in candidates)
        return [tracks[number] for number in range(len(candidates))]


class Strategy:
    def __init__(self, settings, workshop):
        self.settings = settings
        self.workshop = workshop
        self.weights = torch.zeros(3)
        self.generator = torch.Generator().manual_seed(90 + dist.get_rank())

    def generation(self):
        s = self.settings
        noise = torch.randn(s.candidates, 3, generator=self.generator)
        candidates = (self.weights + s.sigma * noise).tolist()
        tracks = self.workshop.tracks(candidates)
        values = torch.tensor([fitness(track, len(self.workshop.course.slopes)) for track in tracks])
        gradient = ((values - values.mean())[:, None] * noise).sum(0) / s.sigma
        sums = torch.cat([gradient, values.sum()[None]])
        dist.all_reduce(sums)
        total = s.candidates * dist.get_world_size()
        self.weights += s.lr * sums[:3] / total
        return (sums[3] / total).item()

    def run(self):
        for number in range(self.settings.generations):
            if number and number % self.settings.level_every == 0:
                self.workshop.level_up()
            mean = self.generation()
            if dist.get_rank() == 0 and number % 10 == 0:
                print(f"generation {number}: {mean:.3f}", flush=True)
            time.sleep(0.02)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--generations", type=int, default=Settings.generations)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    settings = Settings(generations=args.generations)
    Strategy(settings, Workshop(dist.get_rank())).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
