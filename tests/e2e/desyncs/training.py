"""A small training whose rank 1 does something else in one step; every kind has a silent phase.

`--kind none` is the healthy job, `replaced` one that no page can tell from a skipped batch, and `cut` has loaders of
different lengths in loops that are cut to the same number of steps.
"""

import argparse
import random
import time
from collections.abc import Iterator
from threading import Barrier, Thread

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

#: the step in which it happens, and the seconds of a step
WRONG, PAUSE = 30, 0.03
KINDS = (
    *("none", "replaced", "skip", "skip-backward", "swallowed", "extra", "metric", "no-sync", "second-model"),
    *("threads", "threads-by-turns", "shorter", "cut", "left", "joined"),
)
#: steps of a training with two threads
STEPS = 150


def batches(loader: DataLoader[tuple[torch.Tensor, ...]], kind: str) -> Iterator[tuple[int, torch.Tensor]]:
    if kind != "replaced":
        for i, (batch,) in enumerate(loader):
            yield i, batch
        return
    endless = iter(loader)
    for i in range(100):
        (batch,) = next(endless)
        if i == WRONG and dist.get_rank() == 1:
            (batch,) = next(endless)
        yield i, batch


def step(
    kind: str,
    batch: torch.Tensor,
    models: tuple[DistributedDataParallel, DistributedDataParallel],
    optimizer: torch.optim.Optimizer,
    *,
    wrong: bool,
) -> None:
    model, critic = models
    optimizer.zero_grad()
    if kind == "no-sync" and wrong:
        with model.no_sync():
            model(batch).sum().backward()
    elif not trained(kind, model(batch).sum(), wrong=wrong):
        return
    if kind == "second-model" and not wrong:
        critic(batch).sum().backward()
    optimizer.step()
    if kind == "extra" and wrong:
        model(batch).sum().backward()


def trained(kind: str, loss: torch.Tensor, *, wrong: bool) -> bool:
    if kind == "skip-backward" and wrong:
        return False
    try:
        if kind == "swallowed" and wrong:
            raise ValueError("a bad value")
        loss.backward()
    except ValueError:
        return False
    return True


def epochs(rank: int, kind: str) -> None:
    """Two epochs over the rank's own part of the data; `left`: rank 1 goes over to the second one early."""
    model = DistributedDataParallel(nn.Linear(8, 8))
    loader = DataLoader(TensorDataset(torch.randn(4 * (150 if rank != 1 or kind == "left" else 140), 8)), batch_size=4)
    for epoch in range(2):
        for i, (batch,) in enumerate(loader):
            if (kind == "cut" and i == 140) or (kind == "left" and (rank, epoch, i) == (1, 0, WRONG)):
                break
            time.sleep(PAUSE)
            model(batch).sum().backward()
    dist.barrier()
    time.sleep(1.0)
    dist.destroy_process_group()


def joined(rank: int) -> None:
    """Each rank goes over as many batches as it has, and those that are done shadow the others' steps."""
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)))
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
    for _ in range(3):
        with Join([model, optimizer]):
            for _ in range(10 + 40 * rank):
                time.sleep(PAUSE)
                optimizer.zero_grad()
                model(torch.randn(4, 8)).sum().backward()
                optimizer.step()
        dist.all_reduce(torch.ones(1))
    time.sleep(1.0)
    dist.destroy_process_group()


def with_threads(rank: int, *, by_turns: bool) -> None:
    """Gradients in one thread and metrics in another, over one group; whose turn it is is agreed, or chance."""
    turns = [Barrier(2) for _ in range(2 * STEPS)]

    def metrics() -> None:
        chance = random.Random(rank)
        for step in range(STEPS):
            time.sleep(chance.uniform(0.0, 2 * PAUSE))
            if by_turns:
                turns[2 * step].wait()
            dist.all_reduce(torch.ones(8))
            if by_turns:
                turns[2 * step + 1].wait()

    thread = Thread(target=metrics)
    thread.start()
    for step in range(STEPS):
        time.sleep(PAUSE)
        dist.all_reduce(torch.zeros(8))
        if by_turns:
            turns[2 * step].wait()
            turns[2 * step + 1].wait()
    thread.join()
    time.sleep(1.0)
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=KINDS, default="none")
    kind = parser.parse_args().kind
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    if kind.startswith("threads"):
        with_threads(rank, by_turns=kind == "threads-by-turns")
        return
    if kind in ("shorter", "cut", "left"):
        epochs(rank, kind)
        return
    if kind == "joined":
        joined(rank)
        return
    model, critic = DistributedDataParallel(nn.Linear(8, 8)), DistributedDataParallel(nn.Linear(8, 8))
    optimizer = torch.optim.SGD([*model.parameters(), *critic.parameters()], lr=0.01)
    data = TensorDataset(torch.randn(4 * 120 * ranks, 8))
    loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data))
    for i, batch in batches(loader, kind):
        time.sleep(PAUSE)
        wrong = rank == 1 and i == WRONG
        if kind == "metric":
            for key in range(1 if wrong else 2):
                dist.all_reduce(torch.full((1,), float(key)))
        elif kind != "skip" or not wrong:
            step(kind, batch, (model, critic), optimizer, wrong=wrong)
    dist.barrier()
    # torch 2.13 joins gloo's two threads with the interpreter's lock held when the model goes, and they may still need
    # the lock for what they keep of the last backward: meanwhile the lock is free
    time.sleep(1.0)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
