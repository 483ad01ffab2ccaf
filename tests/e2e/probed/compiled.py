"""Compiles code that the probe hooks, in many ways, and writes [graphs, nodes, unique graphs] of each to a file."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo
import torch.distributed as dist
from torch._dynamo.utils import counters
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

result: dict[str, list[int]] = {}
dist.init_process_group("gloo")


class Counting:
    """A backend that counts what it is given and runs it as it is."""

    def __init__(self) -> None:
        self.graphs = 0
        self.nodes = 0

    def __call__(self, module: Any, inputs: Any) -> Any:
        self.graphs += 1
        self.nodes += len(module.graph.nodes)
        return module.forward


class Model(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(4, 8)
        self.second = torch.nn.Linear(8, 2)

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(value)))


def case(work: Callable[[Counting], None]) -> None:
    torch._dynamo.reset()
    counters.clear()
    backend = Counting()
    work(backend)
    result[work.__name__] = [backend.graphs, backend.nodes, counters["stats"]["unique_graphs"]]


def steps(model: Any) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()


@case
def compiled_ddp(backend: Counting) -> None:
    steps(torch.compile(DistributedDataParallel(Model()), backend=backend))


@case
def ddp_of_compiled(backend: Counting) -> None:
    steps(DistributedDataParallel(torch.compile(Model(), backend=backend)))


@case
def whole_step(backend: Counting) -> None:
    model = DistributedDataParallel(Model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(value: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(value).sum() * 2
        loss.backward()
        optimizer.step()
        return loss + 1

    compiled = torch.compile(step, backend=backend)
    for _ in range(3):
        compiled(torch.ones(2, 4))


@case
def optimizer_step(backend: Counting) -> None:
    model = Model()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, 4)).sum().backward()
    compiled = torch.compile(optimizer.step, backend=backend)
    compiled()
    compiled()


@case
def fsdp2(backend: Counting) -> None:
    model = Model()
    fully_shard(model.first)
    fully_shard(model)
    steps(torch.compile(model, backend=backend))


@case
def data_iterator(backend: Counting) -> None:
    iterator = iter(DataLoader(torch.ones(8, 4), batch_size=2))
    compiled = torch.compile(lambda: next(iterator) + 1, backend=backend)
    compiled()
    compiled()


def collective(name: str, work: Callable[[torch.Tensor], torch.Tensor]) -> None:
    def run(backend: Counting) -> None:
        compiled = torch.compile(work, backend=backend)
        compiled(torch.ones(4))
        compiled(torch.ones(4))

    run.__name__ = name
    case(run)


def all_reduce(value: torch.Tensor) -> torch.Tensor:
    dist.all_reduce(value + 1)
    return value * 2


def all_reduce_async(value: torch.Tensor) -> torch.Tensor:
    summed = value + 1
    work = dist.all_reduce(summed, async_op=True)
    other = value * 3
    work.wait()
    return summed + other


def all_gather_single(value: torch.Tensor) -> torch.Tensor:
    gathered = torch.empty(8)
    dist.all_gather_single(gathered, value + 1)
    return gathered * 2


def all_gather(value: torch.Tensor) -> torch.Tensor:
    gathered = [torch.empty(4) for _ in range(2)]
    dist.all_gather(gathered, value + 1)
    return gathered[0] * 2


def barrier(value: torch.Tensor) -> torch.Tensor:
    before = value + 1
    dist.barrier()
    return before * 2


def pair(value: torch.Tensor) -> torch.Tensor:
    before = value + 1
    if dist.get_rank() == 0:
        dist.send(before, 1)
    else:
        dist.recv(before, 0)
    return before * 2


def functional(value: torch.Tensor) -> torch.Tensor:
    from torch.distributed import _functional_collectives as functional_collectives

    return functional_collectives.all_reduce(value + 1, "sum", dist.group.WORLD) * 2


if __name__ == "__main__":
    for one in (all_reduce, all_reduce_async, all_gather_single, all_gather, barrier, pair, functional):
        collective(one.__name__, one)
    if dist.get_rank() == 0:
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            json.dump(result, file)
    dist.barrier()
    # Not through the interpreter's end: while a reference keeps the group alive, a thread of gloo's may drop tensors
    # then, take the GIL for it and abort (pytorch#179291). A program without any probe did so in 15 of 48 runs.
    os._exit(0)
