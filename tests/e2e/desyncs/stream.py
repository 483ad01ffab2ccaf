"""A small training over a stream, of which nothing but the loop's own counter tells how many elements a rank has taken.

`--kind none` is the healthy job. In `other-line` rank 1 comes to the same by another line for once; `counted` takes as
many elements as it needs for its steps, and passes over one; `retried` reads one element again. In `keyed` four
collectives go to a turn, and in `accumulated` two turns to a collective: rank 1 leaves out one of the four, or an
element.
"""

import argparse
import time
from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

HEALTHY = ("none", "other-line", "counted", "retried")
KINDS = (*HEALTHY, "skip", "caught", "twice", "averaged", "keyed", "accumulated")
#: the element in which it happens, and the seconds that one takes: several times what it takes to read a stack on a
#: machine that does more
WRONG, PAUSE = 40, 0.2
#: elements of a healthy job, and of a faulty one: where ranks come late at every step, as on a machine that does much
#: more, no lateness asks for a look, and the warning comes with one of those that are made every twenty seconds
ELEMENTS, ELEMENTS_OF_A_FAULTY_JOB = 140, 340


def stream(rank: int, kind: str) -> Iterator[torch.Tensor]:
    number = 0
    while True:
        time.sleep(PAUSE)
        if kind == "retried" and (rank, number) == (1, WRONG):
            time.sleep(PAUSE)
        value = float("nan") if (rank, number) == (1, WRONG) and kind not in ("none", "retried") else 1.0
        yield torch.full((2, 4), value)
        number += 1


def elements(kind: str) -> int:
    return ELEMENTS if kind in HEALTHY else ELEMENTS_OF_A_FAULTY_JOB


class Trainer:
    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.elements = elements(kind)
        self.model = DistributedDataParallel(nn.Linear(4, 4))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def step(self, batch: torch.Tensor) -> None:
        loss = self.model(batch.nan_to_num()).sum()
        loss.backward()
        self.optimizer.step()

    def checked(self, batch: torch.Tensor) -> None:
        if batch.isnan().any() and self.kind == "caught":
            raise ValueError("a bad element")
        self.step(batch)

    def train(self, batches: Iterator[torch.Tensor]) -> None:
        for number, batch in zip(range(self.elements), batches, strict=False):
            if batch.isnan().any() and self.kind == "skip":
                print(f"element {number} is passed over", flush=True)
                continue
            if batch.isnan().any() and self.kind == "other-line":
                self.step(torch.zeros_like(batch))
                continue
            try:
                self.checked(batch)
            except ValueError:
                continue
            if batch.isnan().any() and self.kind == "twice":
                self.step(batch)

    def train_as_many_steps(self, batches: Iterator[torch.Tensor]) -> None:
        done = 0
        for number, batch in enumerate(batches):
            if batch.isnan().any():
                print(f"element {number} is passed over", flush=True)
                continue
            self.step(batch)
            done += 1
            if done == self.elements:
                break

    def accumulate(self, batches: Iterator[torch.Tensor]) -> None:
        taken = 0
        for _, batch in zip(range(self.elements), batches, strict=False):
            if batch.isnan().any():
                continue
            taken += 1
            if taken % 2:
                with self.model.no_sync():
                    self.model(batch).sum().backward()
            else:
                self.step(batch)


def reduce_by_key(rank: int, turns: int) -> None:
    """Rank 1 lacks a key in one turn."""
    for number in range(turns):
        time.sleep(PAUSE)
        sums = {key: torch.zeros(4) for key in "abcd"}
        if (rank, number) == (1, WRONG):
            del sums["c"]
        for key in sums:
            dist.all_reduce(sums[key])


def average(rank: int, turns: int) -> None:
    """Parameters are averaged after each step; on rank 1 twice after one."""
    weights = torch.zeros(4)
    for number in range(turns):
        time.sleep(PAUSE)
        dist.all_reduce(weights)
        if (rank, number) == (1, WRONG):
            share(weights)


def share(weights: torch.Tensor) -> None:
    dist.all_reduce(weights)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=KINDS, default="none")
    kind = parser.parse_args().kind
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    if kind == "averaged":
        average(rank, elements(kind))
    elif kind == "keyed":
        reduce_by_key(rank, elements(kind))
    elif kind == "accumulated":
        Trainer(kind).accumulate(stream(rank, kind))
    elif kind == "counted":
        Trainer(kind).train_as_many_steps(stream(rank, kind))
    else:
        Trainer(kind).train(stream(rank, kind))
    dist.barrier()
    time.sleep(1.0)
    dist.destroy_process_group()


main()
