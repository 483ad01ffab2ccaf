"""Sorting puzzles by swaps of neighbours; who gets stuck asks a tutor and learns from the hint."""
import argparse
import dataclasses
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from hints import Pupil, TutorService, solve


@dataclasses.dataclass
class Plan:
    rounds: int = 300
    batch: int = 8
    pieces: int = 12
    width: int = 48
    lr: float = 2e-3
    easy: int = 6


class Swapper(nn.Module):
    def __init__(self, pieces, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(pieces, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                 nn.Linear(width, pieces - 1))

    def forward(self, puzzles):
        return self.net(puzzles / puzzles.shape[1])


class Course:
    """Puzzles in which only the first pieces are in disorder; how many depends on the class and on the round."""

    growth = {0: 0, 1: 20, 2: 35}

    def __init__(self, rank, plan):
        self.plan = plan
        self.every = self.growth.get(rank, 0)
        self.g = torch.Generator().manual_seed(rank)

    def disorder(self, number):
        steps = number // self.every if self.every else 0
        return min(self.plan.pieces, self.plan.easy + steps)

    def puzzles(self, number):
        size = self.disorder(number)
        batch = torch.arange(self.plan.pieces).repeat(self.plan.batch, 1)
        for row in batch:
            row[:size] = torch.randperm(size, generator=self.g)
        return batch


class Lesson:
    def __init__(self, plan, pupil):
        self.plan = plan
        self.pupil = pupil
        self.course = Course(dist.get_rank(), plan)
        torch.manual_seed(0)
        self.model = DDP(Swapper(plan.pieces, plan.width))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=plan.lr)

    def target(self, puzzle, difficult):
        """Easy puzzles have their solution with them, for the difficult ones the tutor is asked."""
        return self.pupil.hint(puzzle) if difficult else solve(puzzle.tolist())

    def round(self, number):
        puzzles = self.course.puzzles(number)
        difficult = self.course.disorder(number) > self.plan.easy
        targets = torch.tensor([self.target(puzzle, difficult) for puzzle in puzzles])
        loss = nn.functional.cross_entropy(self.model(puzzles.float()), targets)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for field in dataclasses.fields(Plan):
        parser.add_argument("--" + field.name, type=field.type, default=field.default)
    plan = Plan(**vars(parser.parse_args()))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    port = [TutorService().start() if rank == 0 else None]
    dist.broadcast_object_list(port, src=0)
    lesson = Lesson(plan, Pupil(port[0]))
    for number in range(plan.rounds):
        loss = lesson.round(number)
        time.sleep(0.06)
        if rank == 0 and number % 20 == 0:
            print(f"round {number}: loss {loss:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
